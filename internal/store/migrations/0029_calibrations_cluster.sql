{{distributed "calibrations" "cityHash64(rubric, criterion)"}}
