INSERT INTO `feedback` (`feedback_id`, `ts`, `updated_at`, `project`, `inference_id`, `response_id`, `trace_id`, `score`, `label`, `comment`, `user_id`, `source`, `linked`)
