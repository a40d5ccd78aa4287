SELECT inference_id
FROM inferences
WHERE
{{if .InferenceID}}inference_id = {inference_id:String}
{{else if .ResponseID}}response_id = {response_id:String}
{{else}}trace_id = {trace_id:String} AND ts <= {at:DateTime64(6, 'UTC')} AND NOT internal
{{end}}
ORDER BY operation IN ('chat', 'text_completion', 'generate_content') AND NOT tool_step DESC, ts DESC, inference_id DESC
LIMIT 1
