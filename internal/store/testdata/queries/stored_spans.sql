SELECT DISTINCT concat(TraceId, SpanId)
FROM `otel_traces`
WHERE Timestamp >= {from:DateTime64(6, 'UTC')} AND Timestamp <= {to:DateTime64(6, 'UTC')} + toIntervalMicrosecond(1)
  AND TraceId IN {ids:Array(String)}
