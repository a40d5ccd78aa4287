CREATE TABLE IF NOT EXISTS `docket`.`traffic_hourly_local` ON CLUSTER `prod`
(
    project LowCardinality(String),
    environment LowCardinality(String),
    hour DateTime64(6, 'UTC'),
    request_model LowCardinality(String),
    prompt_name LowCardinality(String),
    prompt_version LowCardinality(String),
    operation LowCardinality(String),
    stratum LowCardinality(String),
    tool_step Bool,
    n SimpleAggregateFunction(sum, UInt64),
    n_complete SimpleAggregateFunction(sum, UInt64),
    input_tokens SimpleAggregateFunction(sum, UInt64),
    output_tokens SimpleAggregateFunction(sum, UInt64),
    cost_nanousd SimpleAggregateFunction(sum, UInt64),
    n_priced SimpleAggregateFunction(sum, UInt64)
)
ENGINE = ReplicatedAggregatingMergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (project, hour, environment, request_model, prompt_name, prompt_version, operation, stratum, tool_step)
TTL toDateTime(hour) + toIntervalDay(400)
SETTINGS non_replicated_deduplication_window = 100000, replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 604800, ttl_only_drop_parts = 1
