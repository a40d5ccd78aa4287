SELECT count() FROM {{.Table}} WHERE {{.Where}}
