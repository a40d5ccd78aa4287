CREATE TABLE IF NOT EXISTS `docket`.`eval_epochs` ON CLUSTER `prod` AS `docket`.`eval_epochs_local` ENGINE = Distributed('prod', 'docket', 'eval_epochs_local', cityHash64(instance, ts))
