CREATE TABLE IF NOT EXISTS `docket`.`schema_migrations`
(
    version UInt32,
    name String,
    checksum String,
    cluster String,
    applied_at DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = MergeTree
ORDER BY version
