CREATE TABLE IF NOT EXISTS `docket`.`calibration_answers`
(
    verdict_id String CODEC(ZSTD(1)),
    repeat UInt16,
    ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    case_id String CODEC(ZSTD(1)),
    rubric LowCardinality(String),
    criterion LowCardinality(String),
    criterion_version LowCardinality(String),
    criterion_text LowCardinality(String),
    judge_config LowCardinality(String),
    backend LowCardinality(String),
    judge_model LowCardinality(String),
    method LowCardinality(String),
    outcome LowCardinality(String),
    reason LowCardinality(String),
    detail String CODEC(ZSTD(3)),
    probability Nullable(Float64) CODEC(ZSTD(1)),
    threshold Float64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ts)
ORDER BY (verdict_id, repeat)
SETTINGS non_replicated_deduplication_window = 100000, replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 604800
