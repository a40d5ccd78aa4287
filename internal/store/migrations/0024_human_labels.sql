CREATE TABLE IF NOT EXISTS {{table "human_labels"}}{{onCluster}}
(
    ts DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
    project LowCardinality(String),
    criterion LowCardinality(String),
    inference_id String CODEC(ZSTD(1)),
    annotator LowCardinality(String),
    label LowCardinality(String),
    comment String CODEC(ZSTD(3)),
    selection_p Float64 CODEC(ZSTD(1)),
    PROJECTION by_inference INDEX inference_id TYPE basic
)
ENGINE = {{engine "ReplacingMergeTree(ts)"}}
ORDER BY (project, criterion, inference_id, annotator)
SETTINGS {{dedup}}, deduplicate_merge_projection_mode = 'rebuild'
