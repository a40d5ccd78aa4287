CREATE TABLE IF NOT EXISTS `docket`.`deletions` ON CLUSTER `prod` AS `docket`.`deletions_local` ENGINE = Distributed('prod', 'docket', 'deletions_local', cityHash64(deletion_id))
