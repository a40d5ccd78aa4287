CREATE TABLE IF NOT EXISTS `docket`.`feedback` ON CLUSTER `prod` AS `docket`.`feedback_local` ENGINE = Distributed('prod', 'docket', 'feedback_local', cityHash64(feedback_id))
