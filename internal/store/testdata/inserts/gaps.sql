INSERT INTO `capture_gaps` (`gap_id`, `ts`, `instance`, `project`, `reason`, `count`, `bytes`, `detail`)
