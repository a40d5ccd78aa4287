{{alterDistributed "verdicts" "ADD COLUMN IF NOT EXISTS raw_probability Nullable(Float64) AFTER probability, ADD COLUMN IF NOT EXISTS calibrated_probability Nullable(Float64) AFTER raw_probability"}}
