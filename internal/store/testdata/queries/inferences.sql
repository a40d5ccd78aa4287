SELECT ...
FROM inferences
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
ORDER BY ts DESC, inference_id DESC
LIMIT {limit:UInt32}
