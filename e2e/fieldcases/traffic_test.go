package fieldcases

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// traffic sends n calls that are answered at once.
type traffic struct {
	name        string // caseHeader
	addr        string
	n           int
	concurrency int
	over        time.Duration // the calls are spread over this time

	failed atomic.Int64
}

// answerAtOnce makes the upstream ready for calls of that name.
func (s *suite) answerAtOnce(name string) {
	s.script.add(name, feed{parts: []string{plainAnswer}}.answer)
}

// run returns when all calls have ended.
func (l *traffic) run(t *testing.T) {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: l.concurrency}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, Timeout: patience}
	start := time.Now()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range l.concurrency {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(l.n); i = next.Add(1) - 1 {
				<-time.After(time.Until(start.Add(l.over * time.Duration(i) / time.Duration(l.n))))
				l.call(t, c)
			}
		})
	}
	workers.Wait()
}

func (l *traffic) call(t *testing.T, c *http.Client) {
	body := strings.NewReader(`{"model":"m-small","messages":[{"role":"user","content":"hi"}]}`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.addr+"/v1/chat/completions", body)
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set(caseHeader, l.name)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.Do(req)
	if err != nil {
		l.failed.Add(1)
		return
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || !bytes.HasSuffix([]byte(plainAnswer), got) || len(got) != 80 {
		l.failed.Add(1)
	}
}
