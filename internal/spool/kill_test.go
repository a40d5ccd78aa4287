package spool_test

func childAppends(dir string) {}
