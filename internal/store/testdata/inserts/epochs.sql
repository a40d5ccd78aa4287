INSERT INTO `eval_epochs` (`ts`, `instance`, `project`, `rule`, `stratum`, `reason`, `threshold`, `count`)
