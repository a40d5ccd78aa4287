package evaluate

import (
	"context"
	"fmt"

	"docket/internal/record"
)

// Kinds of saved places: up to where all verdicts are written, and up to where
// candidates are counted in epochs. The latter is ahead while verdicts are
// outstanding.
const (
	cursorDone    = "candidates"
	cursorCounted = "counted"
)

// places are saved places by shard. They are kept for each shard, so that
// another division of the shards goes on where the one before stopped.
type places [shardCount]place

func cursorName(kind string, shard uint8) string { return fmt.Sprintf("%s shard %d", kind, shard) }

// owned lists the shards of this evaluator.
func (l *Loop) owned() []uint8 {
	if l.shards != nil {
		return l.shards
	}
	all := make([]uint8, shardCount)
	for i := range all {
		all[i] = uint8(i)
	}
	return all
}

// first is the earliest place of the owned shards: where to begin to read.
func (l *Loop) first(done places) place {
	out := done[l.owned()[0]]
	for _, shard := range l.owned() {
		if done[shard].before(out) {
			out = done[shard]
		}
	}
	return out
}

// loadPlaces reads the saved places. Earlier versions kept one for the whole
// part of the shards.
func (l *Loop) loadPlaces(ctx context.Context) (done, counted places, err error) {
	kinds := []string{cursorDone, cursorCounted}
	var names []string
	for _, kind := range kinds {
		names = append(names, kind+" "+l.config.Shards)
		for _, shard := range l.owned() {
			names = append(names, cursorName(kind, shard))
		}
	}
	var saved map[string]record.Cursor
	err = retry(ctx, l.opts.Log, "load cursors", func(ctx context.Context) error {
		saved, err = l.opts.Store.LoadCursors(ctx, names)
		return err
	})
	for i, into := range []*places{&done, &counted} {
		for _, shard := range l.owned() {
			c, ok := saved[cursorName(kinds[i], shard)]
			if !ok {
				c = saved[kinds[i]+" "+l.config.Shards]
			}
			into[shard] = place{c.Time, c.ID}
		}
	}
	for _, shard := range l.owned() {
		if counted[shard].before(done[shard]) {
			counted[shard] = done[shard]
		}
	}
	return done, counted, err
}

// saveCursor moves the saved places of the owned shards on. None goes back: one
// shard may have been read further than the others.
func (w *writer) saveCursor(ctx context.Context, kind string, saved *places, to place) {
	var names []string
	for _, shard := range w.owned() {
		if saved[shard].before(to) {
			names = append(names, cursorName(kind, shard))
		}
	}
	if len(names) == 0 {
		return
	}
	if err := w.opts.Store.SaveCursors(ctx, names, record.Cursor{Time: to.at, ID: to.id}); err != nil {
		w.opts.Log.Error("save cursors", "kind", kind, "error", err)
		return
	}
	for _, shard := range w.owned() {
		if saved[shard].before(to) {
			saved[shard] = to
		}
	}
}
