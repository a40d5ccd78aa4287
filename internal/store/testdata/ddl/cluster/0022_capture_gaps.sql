CREATE TABLE IF NOT EXISTS `docket`.`capture_gaps_local` ON CLUSTER `prod`
(
    gap_id String,
    ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    inserted_at DateTime64(6, 'UTC') DEFAULT now64(6) CODEC(Delta, ZSTD(1)),
    instance LowCardinality(String),
    project LowCardinality(String),
    reason LowCardinality(String),
    count UInt64,
    bytes UInt64,
    detail String CODEC(ZSTD(1))
)
ENGINE = ReplicatedReplacingMergeTree(inserted_at)
PARTITION BY toYYYYMM(ts)
ORDER BY (project, ts, reason, gap_id)
TTL toDateTime(inserted_at) + toIntervalDay(400)
SETTINGS non_replicated_deduplication_window = 100000, replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 604800, ttl_only_drop_parts = 1
