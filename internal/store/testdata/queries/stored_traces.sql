SELECT DISTINCT TraceId
FROM `otel_traces_trace_id_ts`
WHERE TraceId IN {ids:Array(String)}
