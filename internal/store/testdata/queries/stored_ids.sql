SELECT DISTINCT inference_id
FROM inferences
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts <= {to:DateTime64(6, 'UTC')}
  AND inference_id IN {ids:Array(String)}
