CREATE TABLE IF NOT EXISTS `docket`.`deleted_ids_local` ON CLUSTER `prod`
(
    id_hash String CODEC(ZSTD(1)),
    deleted_at DateTime64(6, 'UTC') DEFAULT now64(6) CODEC(Delta, ZSTD(1))
)
ENGINE = ReplicatedMergeTree
ORDER BY id_hash
TTL toDateTime(deleted_at) + toIntervalDay(90)
SETTINGS non_replicated_deduplication_window = 100000, replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 604800
