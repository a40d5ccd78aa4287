CREATE TABLE IF NOT EXISTS {{table "deletions"}}{{onCluster}}
(
    deletion_id String,
    ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    kind LowCardinality(String),
    subject_hash String,
    project LowCardinality(String),
    deleted_by String,
    complete Bool,
    rows Map(String, UInt64)
)
ENGINE = {{engine "MergeTree"}}
ORDER BY (ts, deletion_id)
SETTINGS {{dedup}}
