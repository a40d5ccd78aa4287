SELECT DISTINCT TraceId FROM t WHERE TraceId IN {ids:Array(String)}
