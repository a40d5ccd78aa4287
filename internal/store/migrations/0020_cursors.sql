CREATE TABLE IF NOT EXISTS {{table "cursors"}}{{onCluster}}
(
    name String,
    at DateTime64(6, 'UTC'),
    inference_id String,
    updated_at DateTime64(6, 'UTC')
)
ENGINE = {{engine "ReplacingMergeTree(updated_at)"}}
ORDER BY name
