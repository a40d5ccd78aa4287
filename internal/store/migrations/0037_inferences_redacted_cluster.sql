{{alterDistributed "inferences" "ADD COLUMN IF NOT EXISTS redacted LowCardinality(String) AFTER undecodable, ADD COLUMN IF NOT EXISTS redactions Map(LowCardinality(String), UInt32) AFTER redacted"}}
