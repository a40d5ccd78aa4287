CREATE TABLE IF NOT EXISTS `docket`.`capture_gaps` ON CLUSTER `prod` AS `docket`.`capture_gaps_local` ENGINE = Distributed('prod', 'docket', 'capture_gaps_local', cityHash64(gap_id))
