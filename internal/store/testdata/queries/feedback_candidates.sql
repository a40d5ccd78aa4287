SELECT ...
FROM candidates
WHERE inference_id IN {ids:Array(String)} AND feedback_id != ''
ORDER BY inserted_at, feedback_id
