package capture

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/google/uuid"

	"docket/internal/record"
)

// An exchange that stays open for long would hold on to all of the spool that
// was written since it began. So the records of such exchanges are copied into
// files of their own beside the spool, and the segments can go.
//
// The index of these files is read at start. The order of writes makes every
// crash harmless: index, file, then Ack, which lets segments go; and when the
// exchange has ended, Ack (which keeps the segment of the end), file, index. So
// no file is ever without its entry.

// carrySegments is after how many segments an open exchange is copied out.
const carrySegments = 4

const carryIndex = "carried"

// carried is one entry of the index.
type carried struct {
	ID   uuid.UUID
	Life uint64
}

func carryName(id uuid.UUID) string { return "open-" + id.String() }

// carryOld copies out the open exchanges that began long before to.
func (d *Drainer) carryOld(to record.Position) error {
	var old []openExchange
	for id, o := range d.tracker.open {
		oldest, ok := o.oldest()
		if !ok || oldest.Segment+carrySegments > to.Segment {
			continue
		}
		o.carried = true
		d.tracker.open[id] = o
		old = append(old, o)
	}
	if len(old) == 0 {
		return nil
	}
	if err := d.saveCarryIndex(); err != nil {
		return err
	}
	for _, o := range old {
		if err := d.carryOut(&o); err != nil {
			return fmt.Errorf("copy open exchange %s out of the spool: %w", o.id, err)
		}
		d.tracker.open[o.id] = o
	}
	return nil
}

// carryOut writes the records of one exchange into its file. A record that is
// lost is left out; what reads the file finds that as it would have in the spool.
func (d *Drainer) carryOut(o *openExchange) error {
	var file []byte
	for _, at := range []location{o.begin, o.request, o.done} {
		data, err := d.readRaw(o, at)
		if err != nil && !isLost(err) {
			return err
		}
		file = binary.AppendUvarint(file, uint64(len(data)))
		file = append(file, data...)
	}
	if err := d.opts.Spool.SaveMeta(carryName(o.id), file); err != nil {
		return err
	}
	for i, at := range []*location{&o.begin, &o.request, &o.done} {
		if !at.isZero() {
			*at = location{size: at.size, part: i + 1}
		}
	}
	return nil
}

// readRaw returns the whole record at a place, nil for none.
func (d *Drainer) readRaw(o *openExchange, at location) ([]byte, error) {
	switch {
	case at.isZero():
		return nil, nil
	case at.part == 0:
		rec, err := d.opts.Spool.ReadAt(at.pos)
		return rec.Data, err
	}
	parts, err := d.carriedFile(o.id)
	if err != nil {
		return nil, err
	}
	return parts[at.part-1], nil
}

// carriedFile reads begin, request and done record of an exchange.
func (d *Drainer) carriedFile(id uuid.UUID) (parts [3][]byte, err error) {
	data, err := d.opts.Spool.LoadMeta(carryName(id))
	if err != nil {
		return parts, err
	}
	for i := range parts {
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) {
			return parts, errMalformed
		}
		parts[i], data = data[n:n+int(size)], data[n+int(size):]
	}
	return parts, nil
}

func (d *Drainer) saveCarryIndex() error {
	var index []carried
	for _, o := range d.tracker.open {
		if o.carried {
			index = append(index, carried{ID: o.id, Life: o.life})
		}
	}
	slices.SortFunc(index, func(a, b carried) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	data, err := json.Marshal(index)
	if err != nil {
		return err
	}
	return d.opts.Spool.SaveMeta(carryIndex, data)
}

// loadCarried puts the exchanges of the index into a tracker and returns their
// ids.
func (d *Drainer) loadCarried(t *tracker) ([]uuid.UUID, error) {
	data, err := d.opts.Spool.LoadMeta(carryIndex)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var index []carried
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("index of open exchanges: %w", err)
	}
	var ids []uuid.UUID
	for _, c := range index {
		parts, err := d.carriedFile(c.ID)
		if err != nil && !isLost(err) {
			return nil, err
		}
		o := openExchange{id: c.ID, life: c.Life, carried: true}
		for i, at := range []*location{&o.begin, &o.request, &o.done} {
			if i == 0 || len(parts[i]) > 0 {
				*at = location{size: int64(len(parts[i])), part: i + 1}
			}
		}
		t.open[c.ID] = o
		ids = append(ids, c.ID)
	}
	return ids, nil
}

// dropCarried removes the files of exchanges whose rows are acknowledged.
func (d *Drainer) dropCarried(ids []uuid.UUID) error {
	if len(ids) == 0 {
		return nil
	}
	for _, id := range ids {
		if err := d.opts.Spool.RemoveMeta(carryName(id)); err != nil {
			return err
		}
	}
	return d.saveCarryIndex()
}
