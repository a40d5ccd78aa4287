CREATE TABLE IF NOT EXISTS `docket`.`deleted_ids` ON CLUSTER `prod` AS `docket`.`deleted_ids_local` ENGINE = Distributed('prod', 'docket', 'deleted_ids_local', cityHash64(id_hash))
