CREATE TABLE IF NOT EXISTS {{table "inference_bodies"}}{{onCluster}}
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
ENGINE = {{engine "MergeTree"}}
PARTITION BY toDate(ts)
ORDER BY (project, toStartOfHour(ts), ts, inference_id)
TTL {{ttl "inference_bodies"}}
SETTINGS {{dedup}}, ttl_only_drop_parts = 1, index_granularity_bytes = 67108864
