CREATE TABLE IF NOT EXISTS `docket`.`candidates` ON CLUSTER `prod` AS `docket`.`candidates_local` ENGINE = Distributed('prod', 'docket', 'candidates_local', cityHash64(inference_id))
