{{distributed "candidates" "cityHash64(inference_id)"}}
