SELECT ...
FROM (
  SELECT ...
  FROM feedback
  WHERE feedback_id GLOBAL IN (
    SELECT feedback_id
    FROM feedback
    WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
  AND feedback_id = {id:String}
  AND project = {project:String}
  AND inference_id IN {inference_ids:Array(String)}
  AND trace_id = {trace_id:String}
  AND response_id = {response_id:String}
  AND label = {label:String}
  AND user_id = {user:String}
  AND source = {source:String}
  AND linked = {linked:Bool}
  )
  ORDER BY updated_at DESC
  LIMIT 1 BY feedback_id
)
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
  AND feedback_id = {id:String}
  AND project = {project:String}
  AND inference_id IN {inference_ids:Array(String)}
  AND trace_id = {trace_id:String}
  AND response_id = {response_id:String}
  AND label = {label:String}
  AND user_id = {user:String}
  AND source = {source:String}
  AND linked = {linked:Bool}
  AND (ts, feedback_id) < ({before:DateTime64(6, 'UTC')}, {before_id:String})
ORDER BY ts DESC, feedback_id DESC
LIMIT {limit:UInt32}
