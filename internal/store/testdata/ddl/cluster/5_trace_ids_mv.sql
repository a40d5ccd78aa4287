CREATE MATERIALIZED VIEW IF NOT EXISTS `docket`.`otel_traces_trace_id_ts_mv` ON CLUSTER `prod` TO `docket`.`otel_traces_trace_id_ts_local` AS
SELECT
    TraceId,
    min(Timestamp) AS Start,
    max(Timestamp) AS End
FROM `docket`.`otel_traces_local`
WHERE TraceId != ''
GROUP BY TraceId
