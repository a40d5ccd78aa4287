CREATE TABLE IF NOT EXISTS `docket`.`cursors_local` ON CLUSTER `prod`
(
    name String,
    at DateTime64(6, 'UTC'),
    inference_id String,
    updated_at DateTime64(6, 'UTC')
)
ENGINE = ReplicatedReplacingMergeTree(updated_at)
ORDER BY name
