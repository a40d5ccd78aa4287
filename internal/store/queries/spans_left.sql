SELECT DISTINCT TraceId FROM {{.Table}} WHERE TraceId IN {ids:Array(String)}
