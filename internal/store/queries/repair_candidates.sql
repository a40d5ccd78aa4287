INSERT INTO candidates (
    inserted_at, shard, sample_value, ts, project, environment, inference_id, conversation_id, trace_id, span_id,
    stratum, provider, api, operation, request_model, prompt_name, prompt_version, tags,
    tool_names, terminal_state, status, complete, capture_level, request_cut, response_cut,
    undecodable, internal, tool_step
)
SELECT
    now64(6, 'UTC'),
    toUInt8(cityHash64(if(conversation_id != '', conversation_id, trace_id)) % 64) AS shard,
    sample_value, ts, project, environment, inference_id, conversation_id, trace_id, span_id,
    stratum, provider, api, operation, request_model, prompt_name, prompt_version, tags,
    tool_names, terminal_state, status, complete, capture_level, request_cut, response_cut,
    undecodable, internal, tool_step
FROM inferences
WHERE inference_id IN {ids:Array(String)} AND inserted_at >= {since:DateTime64(6, 'UTC')}
