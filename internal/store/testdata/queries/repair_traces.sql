INSERT INTO `otel_traces_trace_id_ts` (TraceId, Start, End)
SELECT
    TraceId,
    min(Timestamp) AS Start,
    max(Timestamp) AS End
FROM `otel_traces`
WHERE TraceId IN {ids:Array(String)}
  AND Timestamp >= {from:DateTime64(6, 'UTC')} AND Timestamp <= {to:DateTime64(6, 'UTC')} + toIntervalMicrosecond(1)
GROUP BY TraceId
