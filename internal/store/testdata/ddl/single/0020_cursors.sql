CREATE TABLE IF NOT EXISTS `docket`.`cursors`
(
    name String,
    at DateTime64(6, 'UTC'),
    inference_id String,
    updated_at DateTime64(6, 'UTC')
)
ENGINE = ReplacingMergeTree(updated_at)
ORDER BY name
