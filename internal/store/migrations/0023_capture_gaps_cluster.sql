{{distributed "capture_gaps" "cityHash64(gap_id)"}}
