CREATE TABLE IF NOT EXISTS `docket`.`inferences` ON CLUSTER `prod` AS `docket`.`inferences_local` ENGINE = Distributed('prod', 'docket', 'inferences_local', cityHash64(inference_id))
