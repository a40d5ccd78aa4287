CREATE TABLE IF NOT EXISTS `docket`.`human_labels`
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
ENGINE = ReplacingMergeTree(ts)
ORDER BY (project, criterion, inference_id, annotator)
SETTINGS non_replicated_deduplication_window = 100000, replicated_deduplication_window = 100000, replicated_deduplication_window_seconds = 604800, deduplicate_merge_projection_mode = 'rebuild'
