SELECT {{.Columns}}
FROM judge_calls
WHERE inference_id IN {ids:Array(String)}
ORDER BY ts DESC, judge_call_id, inserted_at DESC
LIMIT 1 BY judge_call_id
LIMIT {limit:UInt32}
