SELECT {{.Columns}}
FROM human_labels
WHERE 1
{{if .F.Project}}  AND project = {project:String}{{end}}
{{if .F.Criterion}}  AND criterion = {criterion:String}{{end}}
{{if .F.InferenceIDs}}  AND inference_id IN {inference_ids:Array(String)}{{end}}
ORDER BY ts DESC, inference_id, criterion, annotator
LIMIT 1 BY project, criterion, inference_id, annotator
LIMIT {limit:UInt32}
