CREATE TABLE IF NOT EXISTS `docket`.`judge_calls` ON CLUSTER `prod` AS `docket`.`judge_calls_local` ENGINE = Distributed('prod', 'docket', 'judge_calls_local', cityHash64(inference_id))
