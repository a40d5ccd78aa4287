SELECT ...
FROM inferences
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
  AND inference_id GLOBAL IN (
    SELECT inference_id
    FROM feedback FINAL
    WHERE inference_id != ''
  )
  AND inference_id GLOBAL IN (
    SELECT inference_id
    FROM verdicts
    WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
      AND rubric = {rubric:String}
  )
ORDER BY ts DESC, inference_id DESC
LIMIT {limit:UInt32}
