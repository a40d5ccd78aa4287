SELECT inference_id
FROM inferences
WHERE
trace_id = {trace_id:String} AND ts <= {at:DateTime64(6, 'UTC')} AND NOT internal
ORDER BY operation IN ('chat', 'text_completion', 'generate_content') AND NOT tool_step DESC, ts DESC, inference_id DESC
LIMIT 1
