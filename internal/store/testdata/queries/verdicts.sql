SELECT ...
FROM verdicts
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
ORDER BY ts DESC, verdict_id DESC, judged_at DESC
LIMIT 1 BY verdict_id
LIMIT {limit:UInt32}
