package proxy

import (
	"sync"
	"time"
)

// drain lets a call go on for its record after the client left, for a time and
// a number of bytes. The zero drain lets nothing go on.
type drain struct {
	on    bool
	bytes int64

	mu    sync.Mutex // guards what follows
	timer *time.Timer
	done  bool
}

// begin starts the time limit.
func (d *drain) begin(limit time.Duration, expired func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.done && d.timer == nil {
		d.timer = time.AfterFunc(limit, expired)
	}
}

// more says whether n further bytes may be received for the record alone.
func (d *drain) more(n int) bool {
	d.bytes -= int64(n)
	return d.on && d.bytes >= 0
}

func (d *drain) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = true
	if d.timer != nil {
		d.timer.Stop()
	}
}
