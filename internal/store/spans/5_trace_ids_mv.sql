CREATE MATERIALIZED VIEW IF NOT EXISTS {{spansObject "_trace_id_ts_mv"}}{{onCluster}} TO {{spans "_trace_id_ts"}} AS
SELECT
    TraceId,
    min(Timestamp) AS Start,
    max(Timestamp) AS End
FROM {{spans ""}}
WHERE TraceId != ''
GROUP BY TraceId
