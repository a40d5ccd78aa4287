SELECT project, response_id, conversation_id
FROM inferences
WHERE response_id IN {ids:Array(String)} AND conversation_id != '' AND ts >= {since:DateTime64(6, 'UTC')}
LIMIT 1 BY project, response_id
