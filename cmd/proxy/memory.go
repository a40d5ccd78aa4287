package main

import (
	"runtime/debug"

	"docket/internal/capture"
	"docket/internal/record"
)

const (
	gcPercent = 400
	memory    = 224 * record.MiB // with the default of capture.buffer_bytes
)

// tuneMemory collects garbage less often than Go does by itself, up to a limit.
// It leaves both to GOGC and GOMEMLIMIT where they are set.
func tuneMemory(getenv func(string) string, c capture.Config) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(memory + c.BufferBytes - capture.DefaultConfig().BufferBytes))
	}
}
