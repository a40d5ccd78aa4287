CREATE TABLE IF NOT EXISTS `docket`.`schema_migrations_local` ON CLUSTER `prod`
(
    version UInt32,
    name String,
    checksum String,
    cluster String,
    applied_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = ReplicatedMergeTree
ORDER BY version
