INSERT INTO quality_hourly (
    project, environment, rubric, criterion, hour, criterion_version, judge_config, request_model, prompt_name, prompt_version, origin,
    n, n_pass, n_fail, n_inconclusive, n_not_applicable, w, w2, wy, wp, wq, refreshed_at
)
SELECT
    project,
    environment,
    rubric,
    criterion,
    toDateTime64(toStartOfHour(ts), 6, 'UTC') AS hour,
    criterion_version,
    judge_config,
    request_model,
    prompt_name,
    prompt_version,
    origin,
    count() AS n,
    countIf(outcome = 'pass') AS n_pass,
    countIf(outcome = 'fail') AS n_fail,
    countIf(outcome = 'inconclusive') AS n_inconclusive,
    countIf(outcome = 'not_applicable') AS n_not_applicable,
    sumIf(1 / inclusion_p, outcome IN ('pass', 'fail')) AS w,
    sumIf(1 / (inclusion_p * inclusion_p), outcome IN ('pass', 'fail')) AS w2,
    sumIf(1 / inclusion_p, outcome = 'pass') AS wy,
    sumIf(1 / inclusion_p, probability IS NOT NULL) AS wp,
    sumIf(ifNull(probability, 0) / inclusion_p, probability IS NOT NULL) AS wq,
    now64(6, 'UTC') AS refreshed_at
FROM verdicts FINAL
WHERE ts >= {from:DateTime64(6, 'UTC')} AND ts < {to:DateTime64(6, 'UTC')} AND inclusion_p > 0
GROUP BY project, environment, rubric, criterion, hour, criterion_version, judge_config, request_model, prompt_name, prompt_version, origin
