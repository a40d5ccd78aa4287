SELECT ...
FROM capture_gaps
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
ORDER BY ts, gap_id
LIMIT 1 BY gap_id
LIMIT {limit:UInt32}
