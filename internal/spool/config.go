package spool

import (
	"fmt"
	"time"

	"docket/internal/record"
)

// Values of Config.Sync.
const (
	SyncInterval = "interval"
	SyncAlways   = "always"
)

// maxSegment keeps a record's length well inside its 32 bits.
const maxSegment = record.GiB

// Config is what a user sets.
type Config struct {
	Dir             string          `yaml:"dir" doc:"folder of the spool; one process owns it"`
	SegmentBytes    record.ByteSize `yaml:"segment_bytes" doc:"size of one segment file, and so of the largest record"`
	SegmentAge      time.Duration   `yaml:"segment_age" doc:"how long a segment with delivered records goes on being written; it is deleted within twice that time"`
	MaxBytes        record.ByteSize `yaml:"max_bytes" doc:"most bytes of segments kept on disk, at least six segments; beyond it records are dropped and counted"`
	MinFree         record.ByteSize `yaml:"min_free" doc:"free disk space below which records are dropped and counted; 0 turns the check off"`
	MaxWait         time.Duration   `yaml:"max_wait" doc:"longest wait of a call for one append; after it the call goes on and the record is at risk"`
	FsyncInterval   time.Duration   `yaml:"fsync_interval" doc:"how often written records are forced to disk (sync: interval)"`
	Sync            string          `yaml:"sync" doc:"interval: an append returns from the page cache; always: it waits for the disk, without max_wait"`
	QueueBytes      record.ByteSize `yaml:"queue_bytes" doc:"memory for records that wait for a stalled disk"`
	QuarantineBytes record.ByteSize `yaml:"quarantine_bytes" doc:"most bytes of quarantined rows kept beside the segments"`
}

// DefaultConfig is the configuration of a user who set nothing.
func DefaultConfig() Config {
	return Config{
		Dir:             "data/spool",
		SegmentBytes:    64 * record.MiB,
		SegmentAge:      5 * time.Minute,
		MaxBytes:        4 * record.GiB,
		MinFree:         256 * record.MiB,
		MaxWait:         20 * time.Millisecond,
		FsyncInterval:   100 * time.Millisecond,
		Sync:            SyncInterval,
		QueueBytes:      32 * record.MiB,
		QuarantineBytes: 256 * record.MiB,
	}
}

// Validate names the first setting that is not allowed.
func (c Config) Validate() error {
	switch {
	case c.Dir == "":
		return fmt.Errorf("dir: %q: name a folder", c.Dir)
	case c.SegmentBytes < 64*record.KiB || c.SegmentBytes > maxSegment:
		return fmt.Errorf("segment_bytes: %v: from 64KiB to %v", c.SegmentBytes, maxSegment)
	case c.SegmentAge < time.Second || c.SegmentAge > 30*24*time.Hour:
		return fmt.Errorf("segment_age: %v: from 1s to 720h", c.SegmentAge)
	case c.MaxBytes < 2*c.SegmentBytes:
		return fmt.Errorf("max_bytes: %v: at least twice segment_bytes (%v), since whole segments are freed", c.MaxBytes, c.SegmentBytes)
	case c.MinFree < 0:
		return fmt.Errorf("min_free: %v: 0 or more", c.MinFree)
	case c.MaxWait < time.Millisecond || c.MaxWait > time.Minute:
		return fmt.Errorf("max_wait: %v: from 1ms to 1m", c.MaxWait)
	case c.FsyncInterval < time.Millisecond || c.FsyncInterval > time.Minute:
		return fmt.Errorf("fsync_interval: %v: from 1ms to 1m", c.FsyncInterval)
	case c.Sync != SyncInterval && c.Sync != SyncAlways:
		return fmt.Errorf("sync: %q: %s or %s", c.Sync, SyncInterval, SyncAlways)
	case c.QueueBytes < 0:
		return fmt.Errorf("queue_bytes: %v: 0 or more", c.QueueBytes)
	case c.QuarantineBytes < 0:
		return fmt.Errorf("quarantine_bytes: %v: 0 or more", c.QuarantineBytes)
	}
	return nil
}
