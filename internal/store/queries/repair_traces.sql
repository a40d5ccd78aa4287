INSERT INTO {{.Index}} (TraceId, Start, End)
SELECT
    TraceId,
    min(Timestamp) AS Start,
    max(Timestamp) AS End
FROM {{.Table}}
WHERE TraceId IN {ids:Array(String)}
  AND Timestamp >= {from:DateTime64(6, 'UTC')} AND Timestamp <= {to:DateTime64(6, 'UTC')} + toIntervalMicrosecond(1)
GROUP BY TraceId
