{{define "verdict_conditions"}}
{{if .F.Project}}  AND project = {project:String}{{end}}
{{if .F.InferenceIDs}}  AND inference_id IN {inference_ids:Array(String)}{{end}}
{{if .F.TraceID}}  AND trace_id = {trace_id:String}{{end}}
{{if .F.ConversationID}}  AND conversation_id = {conversation_id:String}{{end}}
{{if .F.Rubric}}  AND rubric = {rubric:String}{{end}}
{{if .F.Criterion}}  AND criterion = {criterion:String}{{end}}
{{end}}
SELECT {{.Columns}}
FROM verdicts
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
{{template "verdict_conditions" .}}
{{if .F.Outcome}}
  AND (verdict_id, judged_at) GLOBAL IN (
    SELECT verdict_id, max(judged_at)
    FROM verdicts
    WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
{{template "verdict_conditions" .}}
      AND verdict_id GLOBAL IN (
        SELECT verdict_id
        FROM verdicts
        WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')} AND outcome = {outcome:String}
{{template "verdict_conditions" .}}
      )
    GROUP BY verdict_id
    HAVING argMax(outcome, judged_at) = {outcome:String}
  )
{{end}}
{{if not .F.Before.Time.IsZero}}  AND (ts, verdict_id) < ({before:DateTime64(6, 'UTC')}, {before_id:String}){{end}}
ORDER BY ts DESC, verdict_id DESC, judged_at DESC
LIMIT 1 BY verdict_id
LIMIT {limit:UInt32}
