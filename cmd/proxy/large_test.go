package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	largeBody = 100 << 20

	// mostHeap is for the program, its upstream and its clients together, with
	// copies of 1 MiB. There are two bodies of each kind: held in memory, they
	// would take more.
	mostHeap = 160 << 20
)

// endless is a body that is made while it is read.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for n := 0; n < len(p); n += copy(p[n:], "0123456789abcdef") {
	}
	return len(p), nil
}

// heap is how much the heap holds, garbage included.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// watchHeap notes the most that the heap holds until stop is called.
func watchHeap() (stop func() uint64) {
	var most uint64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, heap())
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return func() uint64 { close(done); <-ended; return most }
}

// TestLargeBodiesInConstantMemory: eight bodies of 100 MiB at once, up and down,
// over HTTP/1.1 and HTTP/2, with full capture.
func TestLargeBodiesInConstantMemory(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			t.Errorf("upload: %v", err)
		}
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Length", strconv.Itoa(largeBody))
			_, _ = io.CopyN(w, endless{}, largeBody) // the client counts
			return
		}
		fmt.Fprint(w, n)
	}))
	defer up.Close()
	spool := filepath.Join(t.TempDir(), "spool")
	copies := func(name string) string { return map[string]string{"DOCKET_CAPTURE_MAX_BODY": "1MiB"}[name] }
	t.Setenv("DOCKET_CAPTURE_MAX_BODY", "1MiB")
	out, _ := startProxy(t, copies, "--upstream", up.URL, "--store", "http://"+nowhere+"/docket", "--spool", spool, "--config", short(t))
	base := out.find(t, `proxy listening on (http://\S+)`)

	most := watchHeap()
	var calls sync.WaitGroup
	for _, two := range []bool{false, true} {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(!two)
		protocols.SetUnencryptedHTTP2(two)
		transport := &http.Transport{Protocols: protocols}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		const head, tail = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n", "\r\n--b--\r\n"
		calls.Go(func() { transfer(t, client, base+"/v1/blob", "application/octet-stream", "", "") })
		calls.Go(func() {
			transfer(t, client, base+"/v1/audio/transcriptions", "multipart/form-data; boundary=b", head, tail)
		})
		calls.Go(func() { transfer(t, client, base+"/v1/files/a/content", "", "", "") })
		calls.Go(func() { transfer(t, client, base+"/v1/files/b/content", "", "", "") })
	}
	calls.Wait()
	if got := most(); got > mostHeap {
		t.Errorf("the heap held %d MiB, want at most %d", got>>20, mostHeap>>20)
	} else {
		t.Logf("the heap held %d MiB", got>>20)
	}
}

// transfer uploads a large body of a type, or downloads one when there is none.
func transfer(t *testing.T, client *http.Client, url, kind, head, tail string) {
	if kind == "" {
		res, err := client.Get(url)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		if n, err := io.Copy(io.Discard, res.Body); err != nil || n != largeBody {
			t.Errorf("%s: %d bytes, %v", url, n, err)
		}
		return
	}
	body := io.MultiReader(strings.NewReader(head), io.LimitReader(endless{}, largeBody), strings.NewReader(tail))
	res, err := client.Post(url, kind, body)
	if err != nil {
		t.Error(err)
		return
	}
	defer res.Body.Close()
	want := strconv.Itoa(largeBody + len(head) + len(tail))
	if got, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(got, []byte(want)) {
		t.Errorf("%s: the upstream got %q bytes, %v", url, got, err)
	}
}
