INSERT INTO candidates (
    inserted_at, shard, sample_value, ts, project, environment, inference_id, conversation_id, trace_id, span_id,
    stratum, provider, api, operation, request_model, prompt_name, prompt_version, tags,
    tool_names, terminal_state, status, complete, capture_level, request_cut, response_cut,
    undecodable, internal, tool_step, feedback_id, feedback_label, feedback_score, feedback_source
)
SELECT
    now64(6, 'UTC'),
    toUInt8(cityHash64(if(conversation_id != '', conversation_id, trace_id)) % 64) AS shard,
    sample_value, ts, project, environment, inference_id, conversation_id, trace_id, span_id,
    stratum, provider, api, operation, request_model, prompt_name, prompt_version, tags,
    tool_names, terminal_state, status, complete, capture_level, request_cut, response_cut,
    undecodable, internal, tool_step, {feedback_id:String}, {label:String}, {score:Nullable(Float64)}, {source:String}
FROM inferences
WHERE inference_id = {inference_id:String}
LIMIT 1
