{{distributed "inferences" "cityHash64(inference_id)"}}
