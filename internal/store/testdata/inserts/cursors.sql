INSERT INTO `cursors` (`name`, `at`, `inference_id`, `updated_at`)
