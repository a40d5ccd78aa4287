package fieldcases

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"docket/internal/capture"
	"docket/internal/upstreamtest"
)

// shutdown: a stop is asked for while rows wait, streams run and the store is
// slow. All is stored before the proxy ends, and the streams end first.
func (r *run) shutdown(t *testing.T) {
	t.Parallel()
	calls, term, slow, exit := r.file.Steps[0], r.file.Steps[1], r.file.Steps[2], r.file.Steps[3]
	store := r.newShim(t)
	p := r.start(t, settings{project: r.project(), dsn: store.dsn, capture: "shutdown_drain: 5m"})
	await(t, "the tables", patience, func() bool { return strings.Contains(p.log.String(), "the store is ready") })
	r.answerAtOnce(r.c.name)
	store.hold.Lock() // the rows are not stored before the stop
	goOn := sync.OnceFunc(store.hold.Unlock)
	defer goOn()
	load := &traffic{name: r.c.name, addr: p.addr, n: calls.N, concurrency: 4}
	load.run(t)

	release := make(chan struct{})
	var clients []*client
	for range term.Streaming {
		clients = append(clients, r.openStream(t, p, release))
	}
	if n := r.stored(t); n >= calls.N {
		t.Errorf("%d rows are stored already: the test shows nothing", n)
	}
	store.delay.Store(int64(millis(slow.InsertMS)))
	p.terminate()
	await(t, "no new connections", patience, func() bool {
		c, err := net.Dial("tcp", p.addr)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	close(release)
	goOn()
	for _, c := range clients {
		rest, err := io.ReadAll(c.r)
		if err != nil || !strings.HasSuffix(string(rest), "0\r\n\r\n") || !strings.Contains(string(rest), "[DONE]") {
			t.Errorf("a running stream was cut: %v, %q", err, rest)
		}
	}
	// The case's limit is that of an idle machine.
	p.awaitExit(t, max(millis(exit.MaxMS), patience))
	rows := r.stored(t)
	r.check(t, tree{"store": tree{"rows_logical": rows, "lost": r.dropped(t)}})
	if load.failed.Load() > 0 {
		t.Errorf("%d calls failed", load.failed.Load())
	}
}

// openStream starts a stream and reads its first event. The rest comes after
// the release.
func (r *run) openStream(t *testing.T, p *program, release chan struct{}) *client {
	t.Helper()
	name := r.c.name + " stream"
	events := strings.SplitAfter(plainStream[strings.Index(plainStream, "data:"):], "\n\n")
	r.script.add(name, func(c *upstreamtest.Conn) bool {
		parts := chunked("text/event-stream", events)
		_ = c.Send(parts[0] + parts[1]) // the client will tell
		<-release
		return c.Send(strings.Join(parts[2:], "")+"0\r\n\r\n") == nil
	})
	c := dial(t, p.addr)
	t.Cleanup(func() { _ = c.Close() })
	c.send(t, post("/v1/chat/completions", `{"model":"m-small","stream":true}`, caseHeader+": "+name, "Connection: close"))
	c.readSome(t, len(events[0]))
	return c
}

// manyWrites: small calls through several proxies make few inserts, and late
// rows of many days are all stored.
func (r *run) manyWrites(t *testing.T) {
	t.Parallel()
	live, late := r.file.Steps[0], r.file.Steps[1]
	r.answerAtOnce(r.c.name)
	shims := make([]*shim, live.Proxies)
	proxies := make([]*program, live.Proxies)
	for i := range proxies {
		shims[i] = r.newShim(t)
		proxies[i] = r.start(t, settings{project: r.project(), dsn: shims[i].dsn, interval: capture.DefaultConfig().BatchInterval.String()})
	}
	start := time.Now()
	var loads sync.WaitGroup
	for _, p := range proxies {
		loads.Go(func() {
			load := &traffic{name: r.c.name, addr: p.addr, n: live.N / live.Proxies, concurrency: 4, over: millis(live.OverMS)}
			load.run(t)
			if n := load.failed.Load(); n > 0 {
				t.Errorf("%d calls failed", n)
			}
		})
	}
	loads.Wait()
	elapsed := time.Since(start)
	most, mean := 0, 0.0
	for i, p := range proxies {
		n, m := shims[i].rates(elapsed)
		most, mean = max(most, n), max(mean, m)
		p.drained(t)
	}
	line := newPipeline(t, r.suite, r.project())
	for i := range late.N {
		age := time.Duration(i*late.SpreadDays/late.N) * 24 * time.Hour
		line.record(t, exchange{start: time.Now().Add(-age), request: "{}", answer: fmt.Sprintf(`{"id":"late-%d"}`, i)})
	}
	line.flush(t)
	t.Logf("at most %d inserts into a table within a second, %.1f a second into all", most, mean)
	rate := max(most, int(mean+0.999))
	r.check(t, tree{"store": tree{"rows_logical": r.stored(t), "max_inserts_per_s_per_proxy": r.atMost(rate, "store", "max_inserts_per_s_per_proxy")}})
}

// storeDown: nobody notices while the store is away, and afterwards all is there
// or named as dropped.
func (r *run) storeDown(t *testing.T) {
	t.Parallel()
	load := r.file.Steps[1]
	store := r.newShim(t)
	store.down.Store(true)
	start := time.Now()
	p := r.start(t, settings{project: r.project(), dsn: store.dsn})
	r.answerAtOnce(r.c.name)
	l := &traffic{name: r.c.name, addr: p.addr, n: load.N, concurrency: load.Concurrency}
	l.run(t)
	if p.metric(t, "docket_capture_backlog_records") == "0" {
		t.Error("there is no backlog: the test shows nothing")
	}
	// A warning each half minute, beside those of the start.
	if n := strings.Count(p.log.String(), "level=WARN"); n > 4+int(time.Since(start)/(30*time.Second)) {
		t.Errorf("%d warnings:\n%s", n, p.log)
	}
	store.down.Store(false)
	p.drained(t)
	rows := r.stored(t)
	r.check(t, tree{
		"client": tree{"errors": l.failed.Load()},
		"store":  tree{"rows_plus_dropped": rows + r.dropped(t), "rows_at_least": r.atLeast(rows, "store", "rows_at_least")},
	})
}
