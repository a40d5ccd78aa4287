CREATE TABLE IF NOT EXISTS {{table "deleted_ids"}}{{onCluster}}
(
    id_hash String CODEC(ZSTD(1)),
    deleted_at DateTime64(6, 'UTC') DEFAULT now64(6) CODEC(Delta, ZSTD(1))
)
ENGINE = {{engine "MergeTree"}}
ORDER BY id_hash
TTL {{ttl "deleted_ids"}}
SETTINGS {{dedup}}
