SELECT inference_id
FROM (
  SELECT inference_id FROM inferences WHERE conversation_id = {conversation:String} AND project = {project:String}
  UNION ALL
  SELECT inference_id FROM candidates WHERE conversation_id = {conversation:String} AND project = {project:String}
  UNION ALL
  SELECT inference_id FROM verdicts WHERE conversation_id = {conversation:String} AND project = {project:String}
)
GROUP BY inference_id
ORDER BY inference_id
