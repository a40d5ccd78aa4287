{{distributed "quality_hourly" "cityHash64(project, criterion, hour)"}}
