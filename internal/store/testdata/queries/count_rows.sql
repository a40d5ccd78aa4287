SELECT count() FROM t WHERE w
