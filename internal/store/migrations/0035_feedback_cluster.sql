{{distributed "feedback" "cityHash64(feedback_id)"}}
