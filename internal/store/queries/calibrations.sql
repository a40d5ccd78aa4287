SELECT {{.Columns}}
FROM calibrations
{{if .Rubric}}WHERE rubric = {rubric:String}{{end}}
ORDER BY ts DESC, criterion
LIMIT 1 BY rubric, criterion, criterion_version, judge_config, judge_model, method
LIMIT {limit:UInt32}
