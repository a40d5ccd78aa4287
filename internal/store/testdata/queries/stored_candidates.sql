SELECT DISTINCT inference_id
FROM candidates
WHERE inference_id IN {ids:Array(String)} AND feedback_id = ''
