CREATE TABLE IF NOT EXISTS {{table "eval_epochs"}}{{onCluster}}
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
ENGINE = {{engine "MergeTree"}}
PARTITION BY toYYYYMM(ts)
ORDER BY (project, rule, ts, stratum, reason)
TTL {{ttl "eval_epochs"}}
SETTINGS {{dedup}}, ttl_only_drop_parts = 1
