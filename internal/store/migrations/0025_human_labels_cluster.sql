{{distributed "human_labels" "cityHash64(inference_id)"}}
