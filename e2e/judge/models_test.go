package judge

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"docket/e2e/program"
)

// startDecider starts the decision model, and returns its base URL.
func startDecider(t *testing.T) string {
	t.Helper()
	addr := program.FreeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	start(t, addr, t.TempDir(), nil, []string{
		filepath.Join(filepath.Dir(python(t)), "sparrow-decider"), "--model", deciderModel, "serve", "--port", port,
	})
	return "http://" + addr
}

// Names that the models go by.
const (
	deciderModel = "sparrow-nano-general-v1.1"
	talkerModel  = "smollm2-135m"
)

// startTalker starts the chat model, and returns its base URL.
func startTalker(t *testing.T) string {
	t.Helper()
	addr := program.FreeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	start(t, addr, t.TempDir(), nil, []string{
		python(t), script(t, filepath.Join("python", "llama_server.py")),
		"--host", "127.0.0.1", "--port", port, "--n_ctx", "2048", "--n_threads", "2",
		"--logits_all", "true", "--model_alias", talkerModel, "--verbose", "false",
	})
	return "http://" + addr
}

// recorder stands between the judge and a model, changes nothing, and keeps
// what was said.
type recorder struct {
	*httptest.Server
	mu    sync.Mutex
	calls []exchange // guarded by mu
}

// exchange is one request and its answer.
type exchange struct {
	header            http.Header
	path              string
	request, response []byte
}

func newRecorder(t *testing.T, target string) *recorder {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{}
	transport := &http.Transport{}
	forward := &httputil.ReverseProxy{Transport: transport, ModifyResponse: r.note}
	forward.Rewrite = func(p *httputil.ProxyRequest) {
		body, _ := io.ReadAll(p.In.Body)
		p.SetURL(to)
		p.Out.Body, p.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		p.Out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	r.Server = httptest.NewServer(forward)
	t.Cleanup(func() {
		r.Close()
		transport.CloseIdleConnections()
	})
	return r
}

// note keeps an exchange before its answer goes on.
func (r *recorder) note(res *http.Response) error {
	asked, err := res.Request.GetBody()
	if err != nil {
		return err
	}
	request, err := io.ReadAll(asked)
	if err != nil {
		return err
	}
	response, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(response))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, exchange{res.Request.Header.Clone(), res.Request.URL.Path, request, response})
	return nil
}

// about returns the exchanges whose request has a text in it.
func (r *recorder) about(text string) []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []exchange
	for _, c := range r.calls {
		if strings.Contains(string(c.request), text) {
			out = append(out, c)
		}
	}
	return out
}
