CREATE TABLE IF NOT EXISTS `docket`.`deletions_local` ON CLUSTER `prod`
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
ENGINE = ReplicatedMergeTree
ORDER BY (ts, deletion_id)
SETTINGS non_replicated_deduplication_window = 100000, replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 604800
