SELECT count()
FROM inferences
WHERE user_id != {user:String} AND conversation_id != '' AND (project, conversation_id) GLOBAL IN (
    SELECT project, conversation_id
    FROM inferences
    WHERE conversation_id != ''{{if .Project}} AND project = {project:String}{{end}}
    GROUP BY project, conversation_id
    HAVING countIf(user_id = {user:String}) > 0 AND countIf(user_id NOT IN ('', {user:String})) > 0
)
