{{distributedSpans "_trace_id_ts" "cityHash64(TraceId)"}}
