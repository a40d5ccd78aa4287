package spool

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"docket/internal/record"
)

// Options is what code sets. The zero value works.
type Options struct {
	Log *slog.Logger

	// OnLost is told of each record that is lost after its Append returned
	// Stalled. It runs on the writing goroutine: it must return at once and
	// call nothing of the Spool.
	OnLost func(Loss)
}

// Loss is a record whose Append returned Stalled and which could not be
// written afterwards.
type Loss struct {
	Kind   byte
	Bytes  int
	Reason string
}

// hooks are the parts of the disk that a test makes fail.
type hooks struct {
	create createFunc
	free   func(dir string) (int64, error)
	small  func(path string, data []byte) error // replaces a small file
}

// Spool is the log. All methods may be called at the same time.
//
// Append puts a record into the pending batch and waits. The writer goroutine
// takes the batch, writes it at the end of the active segment, publishes the
// new end to readers and releases the waiting callers. A timer (the watchdog)
// releases them earlier when the disk stalls. The syncer goroutine forces
// written records to disk and closes full segments; the preparer goroutine
// makes the next segment ahead of need.
type Spool struct {
	cfg   Config
	opts  Options
	hooks hooks
	id    string
	salt  []byte
	lock  *os.File

	stop  chan struct{} // closed by Close
	kick  chan struct{} // wakes the writer
	dirty chan struct{} // wakes the syncer
	low   chan struct{} // wakes the preparer
	wg    sync.WaitGroup

	active *active // the writer's

	ackMu      sync.Mutex // one Ack at a time; taken before ballastMu and mu
	ballastMu  sync.Mutex // keeps the flag and the file of the ballast together; taken before mu
	quarantine quarantine

	// mu guards everything below, and the marked fields of segment, batch
	// and largeRecord.
	mu        sync.Mutex
	closed    bool
	segments  []*segment  // ascending; the last one is being written
	number    uint64      // the highest segment number given out
	prepared  *active     // the next segment, or nil
	preparing bool        // the preparer was asked for one
	unsynced  segmentFile // the active segment's file
	sealed    []sealed    // full segments the syncer has not closed yet

	spare      []byte // a buffer for the next batch
	pending    *batch
	inflight   *batch
	idle       bool // the writer waits for a kick
	syncIdle   bool // the syncer waits for a kick
	stalled    bool // the write in flight takes longer than max_wait
	watchdog   *time.Timer
	armed      bool
	deadline   time.Time
	published  chan struct{} // closed at the next publication; nil if nobody waits
	used       int64         // bytes of records on disk and pending
	room       int64         // allocated ahead in the active segment
	queued     int64         // bytes whose Append returned Stalled
	lowDisk    bool          // records are refused
	ballast    bool          // its file is there
	pressed    bool          // a write found no room
	retiring   bool          // the writer is asked to give up the active segment
	marked     uint64        // the segment that had delivered records a segment_age ago
	old        bool          // the writer is asked to seal that one
	acked      record.Position
	keepFrom   record.Position
	stats      counters
	lastLength int
}

// Open takes the folder, creating it if needed, and repairs what a crash left
// behind. It fails if another process owns the folder.
func Open(cfg Config, opts Options) (*Spool, error) {
	return open(cfg, opts, hooks{create: createFile, free: freeSpace, small: writeFile})
}

func open(cfg Config, opts Options, h hooks) (_ *Spool, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	for _, dir := range []string{cfg.Dir, filepath.Join(cfg.Dir, metaDir), filepath.Join(cfg.Dir, quarantineDir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open spool: %w", err)
		}
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	s := &Spool{
		cfg: cfg, opts: opts, hooks: h, lock: lock,
		stop: make(chan struct{}), kick: make(chan struct{}, 1),
		dirty: make(chan struct{}, 1), low: make(chan struct{}, 1),
		syncIdle: true,
		stats:    counters{drops: map[string]uint64{}, lost: map[string]uint64{}},
	}
	if err := s.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("open spool %s: %w", cfg.Dir, err), lock.Close())
	}
	s.watchdog = time.AfterFunc(time.Hour, s.stall)
	s.watchdog.Stop()
	s.wg.Go(s.write)
	s.wg.Go(s.sync)
	s.wg.Go(s.prepare)
	return s, nil
}

// recover reads the folder's state and starts a new segment. It never goes on
// in an old one, so a position is never used for two records, not even when a
// power cut took the first.
func (s *Spool) recover() error {
	if err := s.loadIdentity(); err != nil {
		return err
	}
	if err := s.loadAck(); err != nil {
		return err
	}
	if err := s.quarantine.measure(s.cfg.Dir); err != nil {
		return err
	}
	if err := s.recoverSegments(); err != nil {
		return err
	}
	s.number++
	a, err := s.newActive(s.number, s.fillSize())
	if err != nil && reasonOf(err) == ReasonNoSpace {
		s.opts.Log.Warn("spool: the disk is full; what is in the spool is delivered, and records are refused until there is room", "err", err)
		a, err = s.newVacant(s.number), nil
	}
	if err != nil {
		return fmt.Errorf("segment %d: %w", s.number, err)
	}
	s.lowDisk = !s.makeBallast()
	s.activateLocked(a)
	return nil
}

// recoverSegments lists the segments that have records and removes empty ones.
// The last one with records was being written when the process ended, so its
// end is looked for; so is that of any that still has room allocated ahead.
func (s *Spool) recoverSegments() error {
	list, err := listSegments(s.cfg.Dir, s.salt)
	if err != nil {
		return err
	}
	s.number = s.acked.Segment
	for _, g := range slices.Backward(list) {
		s.number = max(s.number, g.number)
		repair := len(s.segments) == 0
		if !repair {
			if repair, err = g.tailIsZero(); err != nil {
				return fmt.Errorf("segment %d: %w", g.number, err)
			}
		}
		if repair {
			torn, err := g.repair()
			if err != nil {
				return fmt.Errorf("segment %d: %w", g.number, err)
			}
			if torn > 0 {
				s.stats.torn += torn
				s.opts.Log.Warn("spool: cut a torn record", "segment", g.number, "offset", g.end, "bytes", torn)
			}
		}
		if g.end <= segmentHeader {
			if err := os.Remove(g.path); err != nil {
				return err
			}
			continue
		}
		s.segments = append(s.segments, g)
		s.used += g.end
	}
	slices.Reverse(s.segments)
	return nil
}

// ID is random, and the same as long as the folder lives.
func (s *Spool) ID() string { return s.id }

const identityFile = "identity"

// loadIdentity reads the folder's random id and salt, or draws them for a new
// folder.
func (s *Spool) loadIdentity() error {
	path := filepath.Join(s.cfg.Dir, identityFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if list, err := listSegments(s.cfg.Dir, nil); err != nil || len(list) > 0 {
			return errors.Join(err, fmt.Errorf("%s is missing, but there are %d segments: restore it, or move the folder away", path, len(list)))
		}
		random := make([]byte, 24)
		_, _ = rand.Read(random) // never fails
		s.id, s.salt = hex.EncodeToString(random[:8]), random[8:]
		return writeFile(path, fmt.Appendf(nil, "%s %x\n", s.id, s.salt))
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(string(data), "%s %x", &s.id, &s.salt); err != nil || len(s.id) != 16 || len(s.salt) != 16 {
		return fmt.Errorf("%s is damaged: restore it, or move the folder away", path)
	}
	return nil
}

// Close writes what is queued, forces it to disk and gives the folder free. What
// is delivered does not stay in it. A blocked Reader returns ErrClosed. Close
// waits for a disk that stalls.
func (s *Spool) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.closed = true
	s.publishLocked()
	s.mu.Unlock()
	close(s.stop)
	s.wg.Wait()
	s.watchdog.Stop()

	s.mu.Lock()
	prepared := s.prepared
	s.prepared = nil
	s.sealed = append(s.sealed, sealed{file: s.active.file, end: s.active.offset})
	delivered := ""
	if s.deliveredLocked() {
		delivered = s.active.seg.path
	}
	s.mu.Unlock()
	err := s.closeSealed()
	if delivered != "" {
		err = errors.Join(err, os.Remove(delivered))
	}
	if prepared != nil {
		err = errors.Join(err, prepared.file.Close(), os.Remove(prepared.seg.path))
	}
	return errors.Join(err, s.lock.Close())
}
