SELECT DISTINCT 'trace', trace_id FROM inferences WHERE inference_id IN {ids:Array(String)} AND trace_id != ''
UNION ALL
SELECT DISTINCT 'span', arrayJoin([span_id, upstream_span_id]) AS id FROM inferences WHERE inference_id IN {ids:Array(String)} AND id != ''
UNION ALL
SELECT DISTINCT 'response', response_id FROM inferences WHERE inference_id IN {ids:Array(String)} AND response_id != ''
UNION ALL
SELECT DISTINCT 'judge', judge_trace_id FROM judge_calls WHERE inference_id IN {ids:Array(String)} AND judge_trace_id != ''
UNION ALL
SELECT DISTINCT 'judge', judge_trace_id FROM verdicts WHERE inference_id IN {ids:Array(String)} AND judge_trace_id != ''
