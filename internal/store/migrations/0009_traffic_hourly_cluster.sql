{{distributed "traffic_hourly" "cityHash64(project, hour, request_model)"}}
