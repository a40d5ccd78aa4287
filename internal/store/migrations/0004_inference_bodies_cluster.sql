{{distributed "inference_bodies" "cityHash64(inference_id)"}}
