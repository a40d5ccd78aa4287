package proxy_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"docket/internal/capture"
	"docket/internal/proxy"
	"docket/internal/record"
)

// memorySpool is a capture.Spool that keeps everything.
type memorySpool struct {
	mu      sync.Mutex
	records []record.SpoolRecord
	acked   record.Position
	meta    map[string][]byte
	more    chan struct{} // closed and renewed by each append
}

func newMemorySpool() *memorySpool {
	return &memorySpool{meta: map[string][]byte{}, more: make(chan struct{})}
}

func (s *memorySpool) ID() string { return "memory" }

func (s *memorySpool) Append(_ context.Context, kind byte, parts ...[]byte) (record.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(len(s.records))
	pos := record.Position{Segment: 1, Offset: n}
	s.records = append(s.records, record.SpoolRecord{Pos: pos, End: record.Position{Segment: 1, Offset: n + 1}, Kind: kind, Data: bytes.Join(parts, nil)})
	close(s.more)
	s.more = make(chan struct{})
	return pos, nil
}

func (s *memorySpool) AppendReserved(ctx context.Context, kind byte, parts ...[]byte) (record.Position, error) {
	return s.Append(ctx, kind, parts...)
}

func (s *memorySpool) Reader(from record.Position) (capture.SpoolReader, error) {
	return &memoryReader{s, int(from.Offset)}, nil
}

func (s *memorySpool) ReadAt(p record.Position) (record.SpoolRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[p.Offset], nil
}

func (s *memorySpool) Acked() record.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}

func (s *memorySpool) Ack(pos, _ record.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acked = pos
	return nil
}

func (s *memorySpool) SaveMeta(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meta[name] = slices.Clone(data)
	return nil
}

func (s *memorySpool) LoadMeta(name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meta[name], nil
}

func (s *memorySpool) RemoveMeta(name string) error    { return s.SaveMeta(name, nil) }
func (s *memorySpool) Quarantine(string, []byte) error { return nil }
func (s *memorySpool) BacklogBytes() int64             { return 1 }
func (r *memoryReader) Close() error                   { return nil }
func (s *memorySpool) at(i int) (record.SpoolRecord, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < len(s.records) {
		return s.records[i], true
	}
	return record.SpoolRecord{}, false
}

func (s *memorySpool) grown() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.more
}

type memoryReader struct {
	s    *memorySpool
	next int
}

func (r *memoryReader) Next(ctx context.Context) (record.SpoolRecord, error) {
	for {
		grown := r.s.grown()
		if rec, ok := r.s.at(r.next); ok {
			r.next++
			return rec, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return record.SpoolRecord{}, ctx.Err()
		}
	}
}

// sink keeps what would be stored.
type sink struct {
	mu    sync.Mutex
	batch record.Batch
}

func (s *sink) Write(_ context.Context, b record.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batch.Inferences = append(s.batch.Inferences, b.Inferences...)
	s.batch.Bodies = append(s.batch.Bodies, b.Bodies...)
	s.batch.Spans = append(s.batch.Spans, b.Spans...)
	return nil
}

// recorded is a proxy whose records can be read back.
type recorded struct {
	*proxied
	spool  *memorySpool
	stored record.Batch // by rows
}

func startRecorded(t *testing.T, c proxy.Config) *recorded {
	t.Helper()
	spool := newMemorySpool()
	return &recorded{proxied: startWith(t, c, spool), spool: spool}
}

// rows waits for n inferences, after which the proxy is stopped.
func (r *recorded) rows(t *testing.T, n int) record.Batch {
	t.Helper()
	eventually(t, "the calls end", func() bool { return r.ends() >= n })
	r.stop()
	out := &sink{}
	cfg := capture.DefaultConfig()
	cfg.BatchInterval = 10 * time.Millisecond
	d := capture.NewDrainer(cfg, capture.DrainerOptions{Spool: r.spool, Sink: out})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := d.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if len(out.batch.Inferences) != n {
		t.Fatalf("%d rows, want %d", len(out.batch.Inferences), n)
	}
	r.stored = out.batch
	return out.batch
}

func (r *recorded) ends() int {
	r.spool.mu.Lock()
	defer r.spool.mu.Unlock()
	n := 0
	for _, rec := range r.spool.records {
		if rec.Kind == capture.KindEnd {
			n++
		}
	}
	return n
}
