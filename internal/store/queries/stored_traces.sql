SELECT DISTINCT TraceId
FROM {{.Index}}
WHERE TraceId IN {ids:Array(String)}
