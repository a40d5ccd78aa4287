CREATE TABLE IF NOT EXISTS `docket`.`calibrations` ON CLUSTER `prod` AS `docket`.`calibrations_local` ENGINE = Distributed('prod', 'docket', 'calibrations_local', cityHash64(rubric, criterion))
