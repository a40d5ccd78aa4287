CREATE TABLE IF NOT EXISTS `docket`.`otel_traces` ON CLUSTER `prod` AS `docket`.`otel_traces_local` ENGINE = Distributed('prod', 'docket', 'otel_traces_local', cityHash64(TraceId))
