{{distributed "calibration_answers" "cityHash64(verdict_id)"}}
