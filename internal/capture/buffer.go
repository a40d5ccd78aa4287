package capture

import (
	"hash/crc32"
	"math/bits"
	"sync"
	"sync/atomic"

	"docket/internal/record"
)

const (
	minClassBits = 12 // 4 KiB
	maxClassBits = 28 // 256 MiB, the largest max_body
)

// castagnoli is made once by the standard library; here only its pointer.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// memory hands out blocks in sizes of powers of two and keeps those in use
// under a limit. It never waits.
type memory struct {
	limit int64
	table *crc32.Table
	used  atomic.Int64
	pools [maxClassBits - minClassBits + 1]sync.Pool // of *[]byte
}

func newMemory(limit int64) *memory { return &memory{limit: limit, table: castagnoli()} }

func classOf(n int) int { return max(bits.Len(uint(max(n, 1)-1)), minClassBits) }

// take returns an empty block that holds n bytes, or nil when the limit is
// reached.
func (m *memory) take(n int) *[]byte {
	class := classOf(n)
	if class > maxClassBits {
		return nil
	}
	size := int64(1) << class
	if m.used.Add(size) > m.limit {
		m.used.Add(-size)
		return nil
	}
	if b, ok := m.pools[class-minClassBits].Get().(*[]byte); ok {
		*b = (*b)[:0]
		return b
	}
	b := make([]byte, 0, size)
	return &b
}

func (m *memory) give(b *[]byte) {
	if b == nil {
		return
	}
	size := cap(*b)
	m.used.Add(-int64(size))
	m.pools[classOf(size)-minClassBits].Put(b)
}

// buffer is the copy of a body: as much of it as the limits allow, with the
// size and checksum of all of it. It is not safe for concurrent use.
type buffer struct {
	mem      *memory
	limit    int // of the copy
	maxValue int // of a value in a copy that outgrows the limit; 0: it is cut at once
	block    *[]byte
	size     uint64 // of all that was written
	crc      uint32
	cut      string   // "" while the copy is whole, else cutLimit or record.GapBufferCap
	form     *form    // not nil: it is described instead; see form.go
	elide    *eliding // not nil: the copy goes on without long values; see elide.go
}

// cutLimit says that a copy was shortened because of max_body.
const cutLimit = "max_body"

func (b *buffer) bytes() []byte {
	if b.block == nil {
		return nil
	}
	return *b.block
}

// write adds p to the copy, as far as limit and memory allow.
func (b *buffer) write(p []byte) {
	b.account(p)
	if b.form != nil && b.limit > 0 {
		ok, head := b.form.write(p)
		if ok {
			return
		}
		b.form, p = nil, head // it is something else
	}
	switch {
	case len(p) == 0 || b.limit == 0:
	case b.elide != nil:
		b.writeElided(p)
	case b.cut != "":
	case len(p) > b.limit-len(b.bytes()) && b.startEliding():
		b.writeElided(p)
	default:
		b.put(p)
	}
}

// put copies what there is room for.
func (b *buffer) put(p []byte) {
	have := len(b.bytes())
	if room := b.limit - have; len(p) > room {
		p = p[:max(room, 0)]
		b.cut, b.elide = cutLimit, nil
	}
	if len(p) > 0 && !b.reserve(have+len(p)) {
		p = p[:b.capacity()-have]
		b.cut, b.elide = record.GapBufferCap, nil
	}
	if len(p) > 0 {
		*b.block = append(*b.block, p...)
	}
}

// maxAhead is how much of an announced body room is made for at once.
const maxAhead = 1 << 20

// expect makes room for a body of an announced length, which saves copying it
// as it grows.
func (b *buffer) expect(length int64) {
	if b.size == 0 && length > 0 && b.limit > 0 && b.form == nil {
		b.reserve(int(min(length, maxAhead, int64(b.limit))))
	}
}

// account adds p to size and checksum only.
func (b *buffer) account(p []byte) {
	b.size += uint64(len(p))
	b.crc = crc32.Update(b.crc, b.mem.table, p)
}

func (b *buffer) capacity() int {
	if b.block == nil {
		return 0
	}
	return cap(*b.block)
}

// reserve makes room for n bytes in all.
func (b *buffer) reserve(n int) bool {
	if n <= b.capacity() {
		return true
	}
	next := b.mem.take(n)
	if next == nil {
		return false
	}
	*next = append(*next, b.bytes()...)
	b.mem.give(b.block)
	b.block = next
	return true
}

// release gives the memory back. Size and checksum stay.
func (b *buffer) release() {
	b.mem.give(b.block)
	b.block = nil
}

// freeze keeps the copy as it is; size and checksum go on.
func (b *buffer) freeze() { b.limit = 0 }

// stop ends the copy; size and checksum go on.
func (b *buffer) stop() {
	b.release()
	b.freeze()
}
