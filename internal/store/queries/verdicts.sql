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
{{if or .F.Outcome .F.Reason}}
  AND (verdict_id, judged_at) GLOBAL IN (
    SELECT verdict_id, max(judged_at)
    FROM verdicts
    WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
{{template "verdict_conditions" .}}
      AND verdict_id GLOBAL IN (
        SELECT verdict_id
        FROM verdicts
        WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
{{if .F.Outcome}}        AND outcome = {outcome:String}{{end}}
{{if .F.Reason}}        AND reason = {reason:String}{{end}}
{{template "verdict_conditions" .}}
      )
    GROUP BY verdict_id
    HAVING {{if .F.Outcome}}argMax(outcome, judged_at) = {outcome:String}{{end}}{{if and .F.Outcome .F.Reason}} AND {{end}}{{if .F.Reason}}argMax(reason, judged_at) = {reason:String}{{end}}
  )
{{end}}
{{if not .F.Before.Time.IsZero}}  AND (ts, verdict_id) < ({before:DateTime64(6, 'UTC')}, {before_id:String}){{end}}
ORDER BY ts DESC, verdict_id DESC, judged_at DESC
LIMIT 1 BY verdict_id
LIMIT {limit:UInt32}
