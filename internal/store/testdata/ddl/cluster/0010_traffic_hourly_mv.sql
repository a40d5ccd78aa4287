CREATE MATERIALIZED VIEW IF NOT EXISTS `docket`.`traffic_hourly_mv` ON CLUSTER `prod` TO `docket`.`traffic_hourly_local` AS
SELECT
    project,
    environment,
    toDateTime64(toStartOfHour(ts), 6, 'UTC') AS hour,
    request_model,
    prompt_name,
    prompt_version,
    operation,
    stratum,
    tool_step,
    count() AS n,
    countIf(complete) AS n_complete,
    sum(ifNull(i.input_tokens, 0) + ifNull(i.cache_read_tokens, 0) + ifNull(i.cache_write_tokens, 0)) AS input_tokens,
    sum(ifNull(i.output_tokens, 0) + ifNull(i.reasoning_tokens, 0)) AS output_tokens,
    sum(ifNull(i.cost_nanousd, 0)) AS cost_nanousd,
    countIf(i.cost_nanousd IS NOT NULL) AS n_priced
FROM `docket`.`inferences_local` AS i
WHERE NOT internal
GROUP BY project, environment, hour, request_model, prompt_name, prompt_version, operation, stratum, tool_step
