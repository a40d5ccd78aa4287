SELECT ...
FROM inferences
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
  AND inference_id = {id:String}
  AND project = {project:String}
  AND environment = {environment:String}
  AND trace_id = {trace_id:String}
  AND conversation_id = {conversation_id:String}
  AND response_id = {response_id:String}
  AND (request_model = {model:String} OR response_model = {model:String})
  AND operation = {operation:String}
  AND terminal_state = {terminal_state:String}
  AND user_id = {user_id:String}
  AND inference_id GLOBAL IN (
    SELECT inference_id
    FROM feedback FINAL
    WHERE inference_id != ''
      AND label = {feedback:String}
  )
  AND inference_id GLOBAL IN (
    SELECT any(inference_id)
    FROM verdicts
    WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
      AND inference_id = {id:String}
      AND project = {project:String}
      AND trace_id = {trace_id:String}
      AND conversation_id = {conversation_id:String}
      AND rubric = {rubric:String}
      AND criterion = {criterion:String}
      AND verdict_id GLOBAL IN (
        SELECT verdict_id
        FROM verdicts
    WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
      AND inference_id = {id:String}
      AND project = {project:String}
      AND trace_id = {trace_id:String}
      AND conversation_id = {conversation_id:String}
      AND rubric = {rubric:String}
      AND criterion = {criterion:String}
        AND outcome = {outcome:String}
      )
    GROUP BY verdict_id
    HAVING argMax(outcome, judged_at) = {outcome:String}
  )
  AND inference_id GLOBAL IN (
    SELECT inference_id
    FROM inference_bodies
    WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
      AND inference_id = {id:String}
      AND project = {project:String}
      AND inference_id GLOBAL IN (SELECT inference_id FROM inferences WHERE trace_id = {trace_id:String})
      AND inference_id GLOBAL IN (SELECT inference_id FROM inferences WHERE conversation_id = {conversation_id:String})
      AND inference_id GLOBAL IN (SELECT inference_id FROM inferences WHERE response_id = {response_id:String})
      AND (positionCaseInsensitiveUTF8(input, {text:String}) > 0 OR positionCaseInsensitiveUTF8(output, {text:String}) > 0)
  )
  AND (ts, inference_id) < ({before:DateTime64(6, 'UTC')}, {before_id:String})
ORDER BY ts DESC, inference_id DESC
LIMIT {limit:UInt32}
