{{distributed "verdicts" "cityHash64(inference_id)"}}
