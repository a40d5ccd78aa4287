ALTER TABLE `docket`.`inferences_local` ON CLUSTER `prod`
    ADD COLUMN IF NOT EXISTS redacted LowCardinality(String) AFTER undecodable,
    ADD COLUMN IF NOT EXISTS redactions Map(LowCardinality(String), UInt32) CODEC(ZSTD(1)) AFTER redacted
