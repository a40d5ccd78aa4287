CREATE TABLE IF NOT EXISTS {{table "capture_gaps"}}{{onCluster}}
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
ENGINE = {{engine "ReplacingMergeTree(inserted_at)"}}
PARTITION BY toYYYYMM(ts)
ORDER BY (project, ts, reason, gap_id)
TTL {{ttl "capture_gaps"}}
SETTINGS {{dedup}}, ttl_only_drop_parts = 1
