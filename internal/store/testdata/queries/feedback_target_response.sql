SELECT inference_id
FROM inferences
WHERE
response_id = {response_id:String}
ORDER BY operation IN ('chat', 'text_completion', 'generate_content') AND NOT tool_step DESC, ts DESC, inference_id DESC
LIMIT 1
