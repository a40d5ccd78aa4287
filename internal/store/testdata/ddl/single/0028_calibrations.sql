CREATE TABLE IF NOT EXISTS `docket`.`calibrations`
(
    ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    rubric LowCardinality(String),
    criterion LowCardinality(String),
    criterion_version LowCardinality(String),
    criterion_text LowCardinality(String),
    judge_config LowCardinality(String),
    backend LowCardinality(String),
    judge_model LowCardinality(String),
    method LowCardinality(String),
    labels String CODEC(ZSTD(1)),
    n UInt32,
    threshold Float64,
    report String CODEC(ZSTD(3)),
    slope Nullable(Float64),
    intercept Nullable(Float64)
)
ENGINE = MergeTree
ORDER BY (rubric, criterion, criterion_version, judge_config, judge_model, method, ts)
SETTINGS non_replicated_deduplication_window = 100000, replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 604800
