CREATE TABLE IF NOT EXISTS {{table "feedback"}}{{onCluster}}
(
    feedback_id String CODEC(ZSTD(1)),
    ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    updated_at DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    inserted_at DateTime64(6, 'UTC') DEFAULT now64(6) CODEC(Delta, ZSTD(1)),
    project LowCardinality(String),
    inference_id String CODEC(ZSTD(1)),
    response_id String CODEC(ZSTD(1)),
    trace_id String CODEC(ZSTD(1)),
    score Nullable(Float64) CODEC(ZSTD(1)),
    label LowCardinality(String),
    comment String CODEC(ZSTD(3)),
    user_id String CODEC(ZSTD(1)),
    source LowCardinality(String),
    linked Bool,
    INDEX by_time updated_at TYPE minmax GRANULARITY 1,
    PROJECTION by_inference INDEX inference_id TYPE basic
)
ENGINE = {{engine "ReplacingMergeTree(updated_at)"}}
ORDER BY feedback_id
TTL {{ttl "feedback"}}
SETTINGS {{dedup}}, deduplicate_merge_projection_mode = 'rebuild'
