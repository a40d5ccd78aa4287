{{distributed "judge_calls" "cityHash64(inference_id)"}}
