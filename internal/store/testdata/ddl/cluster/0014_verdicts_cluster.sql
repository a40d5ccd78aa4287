CREATE TABLE IF NOT EXISTS `docket`.`verdicts` ON CLUSTER `prod` AS `docket`.`verdicts_local` ENGINE = Distributed('prod', 'docket', 'verdicts_local', cityHash64(inference_id))
