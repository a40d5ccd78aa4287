INSERT INTO `human_labels` (`ts`, `project`, `criterion`, `inference_id`, `annotator`, `label`, `comment`, `selection_p`)
