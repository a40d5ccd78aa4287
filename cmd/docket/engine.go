package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	engineName   = "localclickhouse"
	engineGrace  = 30 * time.Second
	engineStarts = 2 * time.Minute // the first start unpacks and migrates nothing, but disks can be slow
	database     = "docket"
)

// startEngine runs the embedded ClickHouse below dir and returns the DSN of the
// database. The port is free at the first start and the same at every restart.
func startEngine(ctx context.Context, s *supervisor, bin, dir string) (dsn string, err error) {
	portFile := filepath.Join(dir, "clickhouse.port")
	// The file of an earlier start stays until the engine replaces it: when the
	// folder is in use, it is the one of the engine that runs.
	before, err := os.Stat(portFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	p := process{
		name: engineName, path: filepath.Join(bin, engineName), grace: engineGrace,
		args: []string{"--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "clickhouse"), "--port-file", portFile},
	}
	c, err := s.start(p)
	if err != nil {
		return "", err
	}
	addr, err := awaitFile(ctx, portFile, before, c)
	if err != nil {
		return "", err
	}
	c.args[1], c.restart = addr, true
	password, err := os.ReadFile(filepath.Join(dir, "clickhouse", "password"))
	if err != nil {
		return "", fmt.Errorf("password of the engine: %w", err)
	}
	u := url.URL{Scheme: "http", User: url.UserPassword("default", strings.TrimSpace(string(password))), Host: addr, Path: database}
	return u.String(), nil
}

// awaitFile polls until another file than before is in its place (the child
// puts a whole one there), the child has ended, or ctx ends.
func awaitFile(ctx context.Context, file string, before os.FileInfo, c *child) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, engineStarts)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if now, err := os.Stat(file); err == nil && (before == nil || !os.SameFile(before, now)) {
			data, err := os.ReadFile(file)
			return strings.TrimSpace(string(data)), err
		}
		select {
		case <-c.done:
			return "", fmt.Errorf("%s ended: %s", c.name, c.ending())
		case <-ctx.Done():
			return "", fmt.Errorf("%s did not get ready: %w", c.name, context.Cause(ctx))
		case <-tick.C:
		}
	}
}
