SELECT ...
FROM human_labels
WHERE 1
  AND project = {project:String}
  AND criterion = {criterion:String}
  AND inference_id IN {inference_ids:Array(String)}
ORDER BY ts DESC, inference_id, criterion, annotator
LIMIT 1 BY project, criterion, inference_id, annotator
LIMIT {limit:UInt32}
