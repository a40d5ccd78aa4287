SELECT ...
FROM (
  SELECT ...
  FROM feedback
  WHERE feedback_id GLOBAL IN (
    SELECT feedback_id
    FROM feedback
    WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
  )
  ORDER BY updated_at DESC
  LIMIT 1 BY feedback_id
)
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
ORDER BY ts DESC, feedback_id DESC
LIMIT {limit:UInt32}
