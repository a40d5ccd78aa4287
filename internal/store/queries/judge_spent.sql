SELECT count(), sum(cost)
FROM (
    SELECT judge_call_id, toUInt64(any(ifNull(cost_nanousd, 0))) AS cost
    FROM judge_calls
    WHERE rubric = {rubric:String} AND ts >= {since:DateTime64(6, 'UTC')} AND origin != 'cache'
    GROUP BY judge_call_id
)
