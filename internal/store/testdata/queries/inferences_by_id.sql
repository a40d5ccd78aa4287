SELECT ...
FROM inferences
WHERE inference_id IN {ids:Array(String)}
LIMIT 1 BY inference_id
