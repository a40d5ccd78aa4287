CREATE TABLE IF NOT EXISTS `docket`.`inference_bodies`
(
    ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    inserted_at DateTime64(6, 'UTC') DEFAULT now64(6) CODEC(Delta, ZSTD(1)),
    inference_id String CODEC(ZSTD(1)),
    project LowCardinality(String),
    request_headers Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    response_headers Map(LowCardinality(String), String) CODEC(ZSTD(3)),
    request String CODEC(ZSTD(3)),
    response String CODEC(ZSTD(3)),
    input String CODEC(ZSTD(3)),
    output String CODEC(ZSTD(3)),
    tools String CODEC(ZSTD(3)),
    PROJECTION by_inference INDEX inference_id TYPE basic
)
ENGINE = MergeTree
PARTITION BY toDate(ts)
ORDER BY (project, toStartOfHour(ts), ts, inference_id)
TTL toDateTime(inserted_at) + toIntervalDay(30)
SETTINGS non_replicated_deduplication_window = 100000, replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 604800, ttl_only_drop_parts = 1, index_granularity_bytes = 67108864
