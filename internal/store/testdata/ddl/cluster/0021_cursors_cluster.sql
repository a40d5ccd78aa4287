CREATE TABLE IF NOT EXISTS `docket`.`cursors` ON CLUSTER `prod` AS `docket`.`cursors_local` ENGINE = Distributed('prod', 'docket', 'cursors_local', cityHash64(name))
