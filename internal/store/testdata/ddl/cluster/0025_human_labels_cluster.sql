CREATE TABLE IF NOT EXISTS `docket`.`human_labels` ON CLUSTER `prod` AS `docket`.`human_labels_local` ENGINE = Distributed('prod', 'docket', 'human_labels_local', cityHash64(inference_id))
