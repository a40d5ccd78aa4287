ALTER TABLE {{table "verdicts"}}{{onCluster}}
    ADD COLUMN IF NOT EXISTS raw_probability Nullable(Float64) CODEC(ZSTD(1)) AFTER probability,
    ADD COLUMN IF NOT EXISTS calibrated_probability Nullable(Float64) CODEC(ZSTD(1)) AFTER raw_probability
