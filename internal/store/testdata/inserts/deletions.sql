INSERT INTO `deletions` (`deletion_id`, `ts`, `kind`, `subject_hash`, `project`, `deleted_by`, `complete`, `rows`)
