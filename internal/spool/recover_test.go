package spool_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/record"
	"docket/internal/spool"
)

// segments lists the segment files of a folder.
func segments(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// filled makes a folder with some records in its one segment, as a killed
// process would leave it, and returns the segment's file and bytes.
func filled(t *testing.T, dir string, entries []entry) (name string, content []byte, at []record.Position) {
	t.Helper()
	s := open(t, small(dir))
	for _, e := range entries {
		at = append(at, appendOne(t, s, e.Kind, e.Data))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	name = segments(t, dir)[0]
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return name, content, at
}

// reread opens the folder with other bytes in its first segment and reads it.
func reread(t *testing.T, dir, name string, content []byte) ([]entry, []*spool.CorruptError, int64) {
	t.Helper()
	for _, other := range segments(t, dir) {
		if err := os.Remove(other); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, small(dir))
	got, _, corrupt := readAll(t, s, record.Position{})
	torn := s.Stats().Torn
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return got, corrupt, torn
}

func TestTornTailAtEveryByte(t *testing.T) {
	dir := t.TempDir()
	entries := []entry{{1, "first"}, {2, strings.Repeat("second", 5)}, {3, "third, the one that is torn\x00\x00"}}
	name, content, at := filled(t, dir, entries)
	last := at[2].Offset
	for cut := last; cut < int64(len(content)); cut++ {
		for _, tail := range [][]byte{nil, make([]byte, 5000)} { // growing file, file allocated ahead
			got, corrupt, torn := reread(t, dir, name, append(bytes.Clone(content[:cut]), tail...))
			whole := cut >= int64(len(content))-2 && tail != nil // only zeros were missing
			want := entries[:2]
			if whole {
				want = entries
			}
			if diff := cmp.Diff(want, got); diff != "" || len(corrupt) > 0 {
				t.Fatalf("cut at %d: records (-want +got):\n%s\ncorrupt: %v", cut, diff, corrupt)
			}
			if !whole && (torn > cut-last || cut > last && torn == 0) {
				t.Errorf("cut at %d: %d torn bytes, want at most %d", cut, torn, cut-last)
			}
		}
	}
}

func TestCorruptByteLosesOneRecord(t *testing.T) {
	dir := t.TempDir()
	// The second record holds bytes that look like a record of their own.
	forged := string(spool.Frame(nil, 1, 0, 9, []byte("forged")))
	entries := []entry{{1, "first"}, {2, strings.Repeat(forged, 3)}, {3, "third"}}
	name, content, at := filled(t, dir, entries)
	for i := at[1].Offset; i < at[2].Offset; i++ {
		damaged := bytes.Clone(content)
		damaged[i] ^= 0x40
		got, corrupt, torn := reread(t, dir, name, damaged)
		if diff := cmp.Diff([]entry{entries[0], entries[2]}, got); diff != "" || torn != 0 {
			t.Fatalf("byte %d: records (-want +got):\n%s\ntorn: %d", i, diff, torn)
		}
		want := []*spool.CorruptError{{Pos: at[1], Bytes: at[2].Offset - at[1].Offset}}
		if diff := cmp.Diff(want, corrupt); diff != "" {
			t.Fatalf("byte %d: corrupt (-want +got):\n%s", i, diff)
		}
	}
}

func segmentNumbers(at []record.Position) []uint64 {
	var list []uint64
	for _, pos := range at {
		list = append(list, pos.Segment)
	}
	return list
}

func TestCorruptSegmentDoesNotHideTheNext(t *testing.T) {
	dir := t.TempDir()
	s := open(t, small(dir))
	var at []record.Position
	for i := range 30 {
		at = append(at, appendOne(t, s, byte(i), strings.Repeat("x", 10_000)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	names := segments(t, dir)
	numbers := slices.Compact(segmentNumbers(at))
	info, err := os.Stat(names[1])
	if err != nil {
		t.Fatal(err)
	}
	garbage := bytes.Repeat([]byte{0xD0, 0xCE}, int(info.Size()/2))
	if err := os.WriteFile(names[1], garbage, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(names[3]); err != nil { // somebody cleaned up
		t.Fatal(err)
	}
	s = open(t, small(dir))
	var want []byte
	for i, seg := range segmentNumbers(at) {
		if seg != numbers[1] && seg != numbers[3] {
			want = append(want, byte(i))
		}
	}
	got, _, corrupt := readAll(t, s, record.Position{})
	var kinds []byte
	for _, e := range got {
		kinds = append(kinds, e.Kind)
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if len(corrupt) != 1 || corrupt[0].Pos.Segment != numbers[1] || corrupt[0].Bytes < 60_000 {
		t.Errorf("corrupt: %v", corrupt)
	}
	var c *spool.CorruptError
	if _, err := s.ReadAt(record.Position{Segment: numbers[1], Offset: spool.SegmentHeader}); !errors.As(err, &c) {
		t.Errorf("ReadAt a corrupt record: %v", err)
	}
	for _, pos := range []record.Position{{}, {Segment: numbers[3], Offset: 16}, {Segment: numbers[0], Offset: 1 << 40}, {Segment: 99, Offset: 16}} {
		if _, err := s.ReadAt(pos); !errors.Is(err, spool.ErrNotFound) {
			t.Errorf("ReadAt(%v): %v", pos, err)
		}
	}
}

func TestRestartGoesOnWhereItWasAcked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, small(dir))
	var at []record.Position
	for i := range 40 {
		at = append(at, appendOne(t, s, byte(i), strings.Repeat("x", 10_000)))
	}
	before := s.Stats()
	if err := s.Ack(at[30], at[20]); err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	if st.Backlog >= before.Backlog || st.Backlog < 100_000 || st.Segments != before.Segments-3 {
		t.Errorf("stats before %+v, after %+v", before, st)
	}
	if _, err := s.ReadAt(at[0]); !errors.Is(err, spool.ErrNotFound) {
		t.Errorf("deleted record: %v", err)
	}
	for _, bad := range [][2]record.Position{{at[29], at[20]}, {at[31], at[19]}, {at[31], at[32]}, {{Segment: 99}, at[20]}} {
		if err := s.Ack(bad[0], bad[1]); err == nil {
			t.Errorf("Ack(%v, %v) accepted", bad[0], bad[1])
		}
	}
	id := s.ID()
	if err := s.SaveMeta("batch", []byte("edges")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, small(dir))
	if s.ID() != id || s.Acked() != at[30] || s.KeepFrom() != at[20] {
		t.Errorf("id %s, acked %v, keep from %v", s.ID(), s.Acked(), s.KeepFrom())
	}
	if meta, err := s.LoadMeta("batch"); err != nil || string(meta) != "edges" {
		t.Errorf("meta %q, %v", meta, err)
	}
	for range 2 {
		if err := s.RemoveMeta("batch"); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.LoadMeta("batch"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed meta: %v", err)
	}
	for i := 20; i < 40; i++ {
		if rec, err := s.ReadAt(at[i]); err != nil || rec.Kind != byte(i) {
			t.Errorf("record %d: %v", i, err)
		}
	}
	if now := s.Stats(); now.Backlog > st.Backlog || now.Backlog < st.Backlog-100 || now.OldestUnacked.IsZero() || now.OldestUnacked.Before(st.OldestUnacked) {
		t.Errorf("stats before %+v, after restart %+v", st, now)
	}
	got, _, _ := readAll(t, s, s.Acked())
	if len(got) != 10 || got[0].Kind != 30 {
		t.Errorf("%d records after the acked position", len(got))
	}
	pos := appendOne(t, s, 1, "new")
	if pos.Segment <= at[39].Segment {
		t.Errorf("new record at %v, the last one before was at %v", pos, at[39])
	}
}

func TestReaderOutlivesDeletion(t *testing.T) {
	s := open(t, small(t.TempDir()))
	var at []record.Position
	for i := range 40 {
		at = append(at, appendOne(t, s, byte(i), strings.Repeat("x", 10_000)))
	}
	inside, err := s.Reader(record.Position{})
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	if _, err := inside.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	outside, err := s.Reader(at[0])
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	if err := s.Ack(at[30], at[30]); err != nil {
		t.Fatal(err)
	}
	// The one inside the deleted segment reads it to its end.
	for _, want := range []int{1, 2, 3, 4, 5, 30} {
		if rec, err := inside.Next(t.Context()); err != nil || rec.Pos != at[want] {
			t.Errorf("inside: got %v (%v), want %v", rec.Pos, err, at[want])
		}
	}
	if rec, err := outside.Next(t.Context()); err != nil || rec.Pos != at[30] {
		t.Errorf("outside: got %v (%v), want %v", rec.Pos, err, at[30])
	}
}

func TestSecondOwner(t *testing.T) {
	dir := t.TempDir()
	s := open(t, small(dir))
	_, err := spool.Open(small(dir), spool.Options{})
	if want := fmt.Sprintf("folder %s is in use by another process (pid %d)", dir, os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("second owner: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{s.Close(), s.Ack(record.Position{}, record.Position{})} {
		if !errors.Is(err, spool.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
	if _, err := s.Append(t.Context(), 1); !errors.Is(err, spool.ErrClosed) {
		t.Errorf("append after Close: %v", err)
	}
	open(t, small(dir))
}

func TestIdentity(t *testing.T) {
	dir := t.TempDir()
	name, _, _ := filled(t, dir, []entry{{1, "x"}})
	identity := filepath.Join(dir, "identity")
	first, err := os.ReadFile(identity)
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range []func() error{
		func() error { return os.WriteFile(identity, first[:20], 0o600) },
		func() error { return os.Remove(identity) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if _, err := spool.Open(small(dir), spool.Options{}); err == nil || !strings.Contains(err.Error(), "identity is ") {
			t.Errorf("opened with a damaged identity: %v", err)
		}
	}
	if err := os.Remove(name); err != nil { // now the folder is wiped
		t.Fatal(err)
	}
	s := open(t, small(dir))
	if strings.HasPrefix(string(first), s.ID()) {
		t.Error("a wiped folder kept its id")
	}
}

func TestOtherFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	name, content, _ := filled(t, dir, []entry{{1, "x"}})
	content[7] = '9'
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := spool.Open(small(dir), spool.Options{}); err == nil || !strings.Contains(err.Error(), `"DOCKETS9"`) {
		t.Errorf("opened another format: %v", err)
	}
}

// FuzzScan puts arbitrary bytes between sound records: reading ends, and finds
// every sound record.
func FuzzScan(f *testing.F) {
	salt, err := hex.DecodeString("000102030405060708090a0b0c0d0e0f")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{}, []byte("payload"), uint16(0))
	f.Add([]byte{0xD0, 0xCE, 0, 0, 0xff, 0xff}, []byte("payload"), uint16(3))
	f.Add(make([]byte, 100), []byte{}, uint16(60))
	f.Add(spool.Frame(salt, 2, 16, 1, []byte("another segment")), []byte{0xD0, 0xCE}, uint16(1))
	f.Fuzz(func(t *testing.T, garbage, data []byte, flip uint16) {
		file := make([]byte, spool.SegmentHeader)
		var want []string
		add := func(s string) {
			file = append(file, spool.Frame(salt, 1, int64(len(file)), 1, []byte(s))...)
			want = append(want, s)
		}
		add("first")
		damaged := len(file)
		file = append(file, spool.Frame(salt, 1, int64(len(file)), 1, data)...)
		file[damaged+int(flip)%(len(file)-damaged)] ^= 1 // one bit of the second record
		file = append(file, garbage...)
		bad := int64(len(file) - damaged)
		add(string(data))
		add("last")
		got, skipped, err := spool.Scan(salt, 1, bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || skipped != bad {
			t.Errorf("skipped %d, want %d; records (-want +got):\n%s", skipped, bad, diff)
		}
	})
}
