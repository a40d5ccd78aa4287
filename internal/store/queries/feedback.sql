{{define "feedback_conditions"}}
{{if .F.ID}}  AND feedback_id = {id:String}{{end}}
{{if .F.Project}}  AND project = {project:String}{{end}}
{{if .F.InferenceIDs}}  AND inference_id IN {inference_ids:Array(String)}{{end}}
{{if .F.TraceID}}  AND trace_id = {trace_id:String}{{end}}
{{if .F.ResponseID}}  AND response_id = {response_id:String}{{end}}
{{if .F.Label}}  AND label = {label:String}{{end}}
{{if .F.User}}  AND user_id = {user:String}{{end}}
{{if .F.Source}}  AND source = {source:String}{{end}}
{{if .F.Linked}}  AND linked = {linked:Bool}{{end}}
{{end}}
SELECT {{.Columns}}
FROM (
  SELECT {{.Columns}}
  FROM feedback
  WHERE feedback_id GLOBAL IN (
    SELECT feedback_id
    FROM feedback
    WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
{{template "feedback_conditions" .}}
  )
  ORDER BY updated_at DESC
  LIMIT 1 BY feedback_id
)
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
{{template "feedback_conditions" .}}
{{if not .F.Before.Time.IsZero}}  AND (ts, feedback_id) < ({before:DateTime64(6, 'UTC')}, {before_id:String}){{end}}
ORDER BY ts DESC, feedback_id DESC
LIMIT {limit:UInt32}
