CREATE TABLE IF NOT EXISTS `docket`.`quality_hourly`
(
    project LowCardinality(String),
    environment LowCardinality(String),
    rubric LowCardinality(String),
    criterion LowCardinality(String),
    hour DateTime64(6, 'UTC'),
    criterion_version LowCardinality(String),
    judge_config LowCardinality(String),
    request_model LowCardinality(String),
    prompt_name LowCardinality(String),
    prompt_version LowCardinality(String),
    origin LowCardinality(String),
    n UInt64,
    n_pass UInt64,
    n_fail UInt64,
    n_inconclusive UInt64,
    n_not_applicable UInt64,
    w Float64,
    w2 Float64,
    wy Float64,
    wp Float64,
    wq Float64,
    refreshed_at DateTime64(6, 'UTC')
)
ENGINE = ReplacingMergeTree(refreshed_at)
PARTITION BY toYYYYMM(hour)
ORDER BY (project, criterion, hour, environment, rubric, criterion_version, judge_config, request_model, prompt_name, prompt_version, origin)
TTL toDateTime(hour) + toIntervalDay(400)
SETTINGS ttl_only_drop_parts = 1
