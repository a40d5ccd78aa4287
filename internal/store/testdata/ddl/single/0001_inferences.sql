CREATE TABLE IF NOT EXISTS `docket`.`inferences`
(
    ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    inserted_at DateTime64(6, 'UTC') DEFAULT now64(6) CODEC(Delta, ZSTD(1)),
    inference_id String CODEC(ZSTD(1)),
    project LowCardinality(String),
    environment LowCardinality(String),
    instance LowCardinality(String),

    trace_id String CODEC(ZSTD(1)),
    span_id String CODEC(ZSTD(1)),
    parent_span_id String CODEC(ZSTD(1)),
    upstream_span_id String CODEC(ZSTD(1)),
    trace_flags UInt8,
    trace_state String CODEC(ZSTD(1)),
    sample_value UInt64 CODEC(ZSTD(1)),

    conversation_id String CODEC(ZSTD(1)),
    conversation_source LowCardinality(String),
    response_id String CODEC(ZSTD(1)),
    user_id String CODEC(ZSTD(1)),
    prompt_name LowCardinality(String),
    prompt_version LowCardinality(String),
    tags Array(LowCardinality(String)),

    upstream LowCardinality(String),
    provider LowCardinality(String),
    api LowCardinality(String),
    operation LowCardinality(String),
    method LowCardinality(String),
    path String CODEC(ZSTD(1)),
    request_model LowCardinality(String),
    response_model LowCardinality(String),
    stream Bool,

    terminal_state LowCardinality(String),
    status UInt16,
    complete Bool,
    finish_reason LowCardinality(String),
    error_type LowCardinality(String),
    error_message String CODEC(ZSTD(1)),

    input_tokens Nullable(UInt64) CODEC(T64, ZSTD(1)),
    cache_read_tokens Nullable(UInt64) CODEC(T64, ZSTD(1)),
    cache_write_tokens Nullable(UInt64) CODEC(T64, ZSTD(1)),
    output_tokens Nullable(UInt64) CODEC(T64, ZSTD(1)),
    reasoning_tokens Nullable(UInt64) CODEC(T64, ZSTD(1)),
    total_tokens Nullable(UInt64) CODEC(T64, ZSTD(1)),
    usage_raw String CODEC(ZSTD(1)),
    cost_nanousd Nullable(UInt64) CODEC(T64, ZSTD(1)),
    price_version LowCardinality(String),

    time_to_first_token_us Nullable(UInt64) CODEC(T64, ZSTD(1)),
    duration_us UInt64 CODEC(T64, ZSTD(1)),
    chunks UInt32 CODEC(T64, ZSTD(1)),
    request_bytes UInt64 CODEC(T64, ZSTD(1)),
    response_bytes UInt64 CODEC(T64, ZSTD(1)),
    request_crc32c UInt32,
    response_crc32c UInt32,
    upstream_request_id String CODEC(ZSTD(1)),

    capture_level LowCardinality(String),
    request_cut Bool,
    response_cut Bool,
    undecodable Bool,
    internal Bool,
    tool_step Bool,
    tool_names Array(LowCardinality(String)),
    stratum LowCardinality(String),
    attributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),

    INDEX by_conversation conversation_id TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_response response_id TYPE bloom_filter(0.01) GRANULARITY 1,
    PROJECTION by_inference INDEX inference_id TYPE basic,
    PROJECTION by_trace INDEX trace_id TYPE basic
)
ENGINE = MergeTree
PARTITION BY toDate(ts)
ORDER BY (project, toStartOfHour(ts), request_model, ts)
TTL toDateTime(inserted_at) + toIntervalDay(90)
SETTINGS non_replicated_deduplication_window = 100000, replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 604800, ttl_only_drop_parts = 1
