SELECT ...
FROM `otel_traces`
WHERE TraceId = {trace_id:String}
ORDER BY Timestamp, SpanId
LIMIT 1 BY TraceId, SpanId
LIMIT {limit:UInt32}
