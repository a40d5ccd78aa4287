CREATE TABLE IF NOT EXISTS {{table "schema_migrations"}}{{onCluster}}
(
    version UInt32,
    name String,
    checksum String,
    cluster String,
    applied_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = {{engine "MergeTree"}}
ORDER BY version
