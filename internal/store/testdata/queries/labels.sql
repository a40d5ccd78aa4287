SELECT ...
FROM human_labels
WHERE 1
ORDER BY ts DESC, inference_id, criterion, annotator
LIMIT 1 BY project, criterion, inference_id, annotator
LIMIT {limit:UInt32}
