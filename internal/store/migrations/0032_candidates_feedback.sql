ALTER TABLE {{table "candidates"}}{{onCluster}}
    ADD COLUMN IF NOT EXISTS feedback_id String CODEC(ZSTD(1)),
    ADD COLUMN IF NOT EXISTS feedback_label LowCardinality(String),
    ADD COLUMN IF NOT EXISTS feedback_score Nullable(Float64),
    ADD COLUMN IF NOT EXISTS feedback_source LowCardinality(String)
