CREATE TABLE IF NOT EXISTS `docket`.`candidates_local` ON CLUSTER `prod`
(
    inserted_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    shard UInt8,
    sample_value UInt64,
    ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    project LowCardinality(String),
    environment LowCardinality(String),
    inference_id String CODEC(ZSTD(1)),
    conversation_id String CODEC(ZSTD(1)),
    trace_id String CODEC(ZSTD(1)),
    span_id String CODEC(ZSTD(1)),
    stratum LowCardinality(String),
    provider LowCardinality(String),
    api LowCardinality(String),
    operation LowCardinality(String),
    request_model LowCardinality(String),
    prompt_name LowCardinality(String),
    prompt_version LowCardinality(String),
    tags Array(LowCardinality(String)),
    tool_names Array(LowCardinality(String)),
    terminal_state LowCardinality(String),
    status UInt16,
    complete Bool,
    capture_level LowCardinality(String),
    request_cut Bool,
    response_cut Bool,
    undecodable Bool,
    internal Bool,
    tool_step Bool,
    PROJECTION by_inference INDEX inference_id TYPE basic
)
ENGINE = ReplicatedMergeTree
PARTITION BY toDate(inserted_at)
ORDER BY (inserted_at, inference_id)
TTL toDateTime(inserted_at) + toIntervalDay(14)
SETTINGS non_replicated_deduplication_window = 100000, replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 604800, ttl_only_drop_parts = 1
