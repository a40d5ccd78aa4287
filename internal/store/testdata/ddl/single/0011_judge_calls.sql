CREATE TABLE IF NOT EXISTS `docket`.`judge_calls`
(
    judge_call_id String CODEC(ZSTD(1)),
    run_id String CODEC(ZSTD(1)),
    ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    inserted_at DateTime64(6, 'UTC') DEFAULT now64(6) CODEC(Delta, ZSTD(1)),
    unit_ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    project LowCardinality(String),
    inference_id String CODEC(ZSTD(1)),
    trace_id String CODEC(ZSTD(1)),
    rubric LowCardinality(String),
    rubric_version LowCardinality(String),
    outcome LowCardinality(String),
    score Nullable(Float64),
    backend LowCardinality(String),
    backend_format LowCardinality(String),
    model LowCardinality(String),
    resolved_model LowCardinality(String),
    method LowCardinality(String),
    questions UInt16,
    input_tokens Nullable(UInt64) CODEC(T64, ZSTD(1)),
    output_tokens Nullable(UInt64) CODEC(T64, ZSTD(1)),
    cost_nanousd Nullable(UInt64) CODEC(T64, ZSTD(1)),
    latency_us UInt64 CODEC(T64, ZSTD(1)),
    attempts UInt16,
    fallback Bool,
    trimmed String CODEC(ZSTD(1)),
    error_reason LowCardinality(String),
    error_message String CODEC(ZSTD(1)),
    judge_trace_id String CODEC(ZSTD(1)),
    judge_span_id String CODEC(ZSTD(1)),
    origin LowCardinality(String),
    PROJECTION by_inference INDEX inference_id TYPE basic
)
ENGINE = ReplacingMergeTree(inserted_at)
PARTITION BY toYYYYMM(ts)
ORDER BY (project, rubric, toStartOfHour(ts), judge_call_id)
TTL toDateTime(inserted_at) + toIntervalDay(400)
SETTINGS non_replicated_deduplication_window = 100000, replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 604800, ttl_only_drop_parts = 1, deduplicate_merge_projection_mode = 'rebuild'
