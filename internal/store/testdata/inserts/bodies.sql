INSERT INTO `inference_bodies` (`ts`, `inference_id`, `project`, `request_headers`, `response_headers`, `request`, `response`, `input`, `output`, `tools`)
