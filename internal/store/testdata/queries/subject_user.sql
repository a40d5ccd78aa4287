SELECT inference_id
FROM inferences
WHERE (user_id = {user:String} OR user_id = '' AND conversation_id != '' AND (project, conversation_id) GLOBAL IN (
    SELECT project, conversation_id
    FROM inferences
    WHERE conversation_id != ''
    GROUP BY project, conversation_id
    HAVING countIf(user_id = {user:String}) > 0 AND countIf(user_id NOT IN ('', {user:String})) = 0
  )) AND project = {project:String}
GROUP BY inference_id
ORDER BY max(user_id != ''), inference_id
