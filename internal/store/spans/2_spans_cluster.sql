{{distributedSpans "" "cityHash64(TraceId)"}}
