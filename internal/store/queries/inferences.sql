{{define "verdicts_of"}}
    WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
{{if .F.ID}}      AND inference_id = {id:String}{{end}}
{{if .F.Project}}      AND project = {project:String}{{end}}
{{if .F.TraceID}}      AND trace_id = {trace_id:String}{{end}}
{{if .F.ConversationID}}      AND conversation_id = {conversation_id:String}{{end}}
{{if .F.Rubric}}      AND rubric = {rubric:String}{{end}}
{{if .F.Criterion}}      AND criterion = {criterion:String}{{end}}
{{end}}
SELECT {{.Columns}}
FROM inferences
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
{{if .F.ID}}  AND inference_id = {id:String}{{end}}
{{if .F.Project}}  AND project = {project:String}{{end}}
{{if .F.Environment}}  AND environment = {environment:String}{{end}}
{{if .F.TraceID}}  AND trace_id = {trace_id:String}{{end}}
{{if .F.ConversationID}}  AND conversation_id = {conversation_id:String}{{end}}
{{if .F.ResponseID}}  AND response_id = {response_id:String}{{end}}
{{if .F.Model}}  AND (request_model = {model:String} OR response_model = {model:String}){{end}}
{{if .F.Operation}}  AND operation = {operation:String}{{end}}
{{if .F.TerminalState}}  AND terminal_state = {terminal_state:String}{{end}}
{{if .F.UserID}}  AND user_id = {user_id:String}{{end}}
{{if .F.Feedback}}
  AND inference_id GLOBAL IN (
    SELECT inference_id
    FROM feedback FINAL
    WHERE inference_id != ''
{{if ne .F.Feedback "any"}}      AND label = {feedback:String}{{end}}
  )
{{end}}
{{if .F.Outcome}}
  AND inference_id GLOBAL IN (
    SELECT any(inference_id)
    FROM verdicts
{{template "verdicts_of" .}}
      AND verdict_id GLOBAL IN (
        SELECT verdict_id
        FROM verdicts
{{template "verdicts_of" .}}
        AND outcome = {outcome:String}
      )
    GROUP BY verdict_id
    HAVING argMax(outcome, judged_at) = {outcome:String}
  )
{{else if or .F.Rubric .F.Criterion}}
  AND inference_id GLOBAL IN (
    SELECT inference_id
    FROM verdicts
{{template "verdicts_of" .}}
  )
{{end}}
{{if .F.Text}}
  AND inference_id GLOBAL IN (
    SELECT inference_id
    FROM inference_bodies
    WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')}
{{if .F.ID}}      AND inference_id = {id:String}{{end}}
{{if .F.Project}}      AND project = {project:String}{{end}}
{{if .F.TraceID}}      AND inference_id GLOBAL IN (SELECT inference_id FROM inferences WHERE trace_id = {trace_id:String}){{end}}
{{if .F.ConversationID}}      AND inference_id GLOBAL IN (SELECT inference_id FROM inferences WHERE conversation_id = {conversation_id:String}){{end}}
{{if .F.ResponseID}}      AND inference_id GLOBAL IN (SELECT inference_id FROM inferences WHERE response_id = {response_id:String}){{end}}
      AND (positionCaseInsensitiveUTF8(input, {text:String}) > 0 OR positionCaseInsensitiveUTF8(output, {text:String}) > 0)
  )
{{end}}
{{if not .F.Before.Time.IsZero}}  AND (ts, inference_id) < ({before:DateTime64(6, 'UTC')}, {before_id:String}){{end}}
ORDER BY ts DESC, inference_id DESC
LIMIT {limit:UInt32}
