package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// outcome is what one client saw of one call.
type outcome struct {
	TraceID string
	Stream  bool
	Whole   bool // the bytes that complete the reply arrived
	Sum     uint32
}

// load sends calls from several clients at once, as an application under way
// would, and notes how each ended.
type load struct {
	base    string
	clients int

	mu       sync.Mutex
	outcomes []outcome // guarded by mu
	next     int       // guarded by mu
}

// run sends calls until ctx ends, but no more than most.
func (l *load) run(ctx context.Context, most int) {
	var wg sync.WaitGroup
	transport := &http.Transport{MaxIdleConnsPerHost: l.clients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 5 * time.Minute}
	for range l.clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := l.take()
				if n > most {
					return
				}
				o := l.call(client, n)
				l.mu.Lock()
				l.outcomes = append(l.outcomes, o)
				l.mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func (l *load) take() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	return l.next
}

// done counts the calls that ended.
func (l *load) done() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.outcomes)
}

// call does not take the test's context: a client does not stop because the
// test's load ends.
func (l *load) call(client *http.Client, n int) outcome {
	o := outcome{TraceID: newTraceID(), Stream: n%2 == 0}
	model := "scripted-text"
	if o.Stream {
		model = "scripted-load"
	}
	body, err := json.Marshal(map[string]any{
		"model": model, "stream": o.Stream,
		"messages": []any{map[string]any{"role": "user", "content": fmt.Sprintf("load %d %s", n, strings.Repeat("x", n%700))}},
	})
	if err != nil {
		panic(err)
	}
	req, err := http.NewRequest(http.MethodPost, l.base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", "00-"+o.TraceID+"-"+callerSpan+"-01")
	res, err := client.Do(req)
	if err != nil {
		<-time.After(20 * time.Millisecond) // the proxy is away: do not spin
		return o
	}
	defer res.Body.Close()
	var reply bytes.Buffer
	_, err = io.Copy(&reply, res.Body)
	o.Sum = crc32.ChecksumIEEE(reply.Bytes())
	// SDKs stop at the provider's end event, whatever follows it.
	o.Whole = err == nil && res.StatusCode == http.StatusOK || o.Stream && strings.HasSuffix(reply.String(), "data: [DONE]\n\n")
	return o
}
