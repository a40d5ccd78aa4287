SELECT ...
FROM verdicts
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
  AND project = {project:String}
  AND inference_id IN {inference_ids:Array(String)}
  AND trace_id = {trace_id:String}
  AND conversation_id = {conversation_id:String}
  AND rubric = {rubric:String}
  AND criterion = {criterion:String}
  AND (verdict_id, judged_at) GLOBAL IN (
    SELECT verdict_id, max(judged_at)
    FROM verdicts
    WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
  AND project = {project:String}
  AND inference_id IN {inference_ids:Array(String)}
  AND trace_id = {trace_id:String}
  AND conversation_id = {conversation_id:String}
  AND rubric = {rubric:String}
  AND criterion = {criterion:String}
      AND verdict_id GLOBAL IN (
        SELECT verdict_id
        FROM verdicts
        WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
        AND outcome = {outcome:String}
        AND reason = {reason:String}
  AND project = {project:String}
  AND inference_id IN {inference_ids:Array(String)}
  AND trace_id = {trace_id:String}
  AND conversation_id = {conversation_id:String}
  AND rubric = {rubric:String}
  AND criterion = {criterion:String}
      )
    GROUP BY verdict_id
    HAVING argMax(outcome, judged_at) = {outcome:String} AND argMax(reason, judged_at) = {reason:String}
  )
  AND (ts, verdict_id) < ({before:DateTime64(6, 'UTC')}, {before_id:String})
ORDER BY ts DESC, verdict_id DESC, judged_at DESC
LIMIT 1 BY verdict_id
LIMIT {limit:UInt32}
