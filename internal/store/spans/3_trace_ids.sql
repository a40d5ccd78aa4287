CREATE TABLE IF NOT EXISTS {{spans "_trace_id_ts"}}{{onCluster}}
(
    TraceId String CODEC(ZSTD(1)),
    Start DateTime CODEC(Delta, ZSTD(1)),
    End DateTime CODEC(Delta, ZSTD(1)),
    INDEX idx_trace_id TraceId TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = {{engine "MergeTree"}}
PARTITION BY toDate(Start)
ORDER BY (TraceId, Start)
TTL toDateTime(Start) + {{spanTTL}}
SETTINGS {{dedup}}, ttl_only_drop_parts = 1
