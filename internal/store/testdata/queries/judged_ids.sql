SELECT DISTINCT verdict_id
FROM verdicts
WHERE verdict_id IN {ids:Array(String)}
