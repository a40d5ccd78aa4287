SELECT {{.Columns}}
FROM calibration_answers
WHERE verdict_id IN {ids:Array(String)}
ORDER BY verdict_id, repeat, ts DESC
LIMIT 1 BY verdict_id, repeat
