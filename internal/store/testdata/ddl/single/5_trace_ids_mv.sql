CREATE MATERIALIZED VIEW IF NOT EXISTS `docket`.`otel_traces_trace_id_ts_mv` TO `docket`.`otel_traces_trace_id_ts` AS
SELECT
    TraceId,
    min(Timestamp) AS Start,
    max(Timestamp) AS End
FROM `docket`.`otel_traces`
WHERE TraceId != ''
GROUP BY TraceId
