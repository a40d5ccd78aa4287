SELECT DISTINCT conversation_id
FROM inferences
WHERE conversation_id IN {ids:Array(String)} AND ts >= {since:DateTime64(6, 'UTC')}
