CREATE TABLE IF NOT EXISTS `docket`.`eval_epochs_local` ON CLUSTER `prod`
(
    ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    inserted_at DateTime64(6, 'UTC') DEFAULT now64(6) CODEC(Delta, ZSTD(1)),
    instance LowCardinality(String),
    project LowCardinality(String),
    rule LowCardinality(String),
    stratum LowCardinality(String),
    reason LowCardinality(String),
    threshold UInt64,
    count UInt64
)
ENGINE = ReplicatedMergeTree
PARTITION BY toYYYYMM(ts)
ORDER BY (project, rule, ts, stratum, reason)
TTL toDateTime(inserted_at) + toIntervalDay(400)
SETTINGS non_replicated_deduplication_window = 100000, replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 604800, ttl_only_drop_parts = 1
