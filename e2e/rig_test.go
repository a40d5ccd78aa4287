package e2e

import (
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"docket/e2e/program"
)

// settings judge everything with a judge that asks nobody.
// An append and a query may take long on a busy test machine. The upstream "dead" refuses connections.
const settings = `
proxy:
  upstreams:
    dead: {prefix: /dead/v1, base_url: "http://127.0.0.1:9/v1", api: openai}
store: {query_timeout: 2m}
capture:
  spool: {max_wait: 1m}
judge:
  backends:
    fixed:
      format: static
      static:
        probability: 0.9
        by_criterion: {honest: 0.2}
        reason: It is always like that.
rubrics:
  quality:
    backend: fixed
    criteria:
      - {name: helpful, text: The reply answers the question.}
      - {name: honest, text: The reply says only what it knows.}
      - {name: brief, check: {max_chars: 400}}
rules:
  - {name: everything, rubric: quality, rate: 1}
evaluator:
  poll: 100ms
  settle: 200ms
`

// rig is a whole installation in one folder.
type rig struct {
	t         *testing.T
	dir       string
	upstream  *upstream
	env       []string
	engine    *program.Program
	proxy     *program.Program
	evaluator *program.Program

	engineAddr, proxyAddr, opsAddr, apiAddr string
}

// newRig picks addresses and writes settings; nothing is started.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), upstream: newUpstream(t), engineAddr: program.FreeAddr(t), proxyAddr: program.FreeAddr(t), opsAddr: program.FreeAddr(t), apiAddr: program.FreeAddr(t)}
	if err := os.WriteFile(filepath.Join(r.dir, "docket.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "password"), []byte("e2e-password"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.env = []string{
		"DOCKET_STORE=http://default:e2e-password@" + r.engineAddr + "/docket",
		"DOCKET_EVALUATOR_API_LISTEN=" + r.apiAddr,
	}
	return r
}

// startAll starts engine, proxy and evaluator.
func startAll(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.startEngine()
	r.startProxy()
	r.startEvaluator()
	return r
}

func (r *rig) startEngine() {
	r.t.Helper()
	r.engine = program.Start(r.t, built(r.t, "localclickhouse"), r.dir, nil, "--listen", r.engineAddr, "--lib", program.Library(r.t, ".."),
		"--data", filepath.Join(r.dir, "clickhouse"), "--password-file", filepath.Join(r.dir, "password"))
	r.engine.AwaitListening(r.engineAddr)
}

func (r *rig) startProxy() {
	r.t.Helper()
	r.proxy = program.Start(r.t, built(r.t, "proxy"), r.dir, r.env, "--config", "docket.yaml", "--listen", r.proxyAddr, "--ops-listen", r.opsAddr,
		"--upstream", r.upstream.URL+"/v1", "--spool", filepath.Join(r.dir, "spool"))
	r.proxy.AwaitListening(r.proxyAddr)
}

func (r *rig) startEvaluator() {
	r.t.Helper()
	r.evaluator = program.Start(r.t, built(r.t, "evaluator"), r.dir, r.env, "serve", "--config", "docket.yaml")
	r.evaluator.AwaitListening(r.apiAddr)
	program.Await(r.t, "tables to read from", time.Minute, func() bool { return reads(r, "/api/v1/verdicts") })
}

func (r *rig) base() string { return "http://" + r.proxyAddr + "/v1" }

// drained waits until the proxy has stored all that ended.
func (r *rig) drained() {
	r.t.Helper()
	program.Await(r.t, "an empty backlog", 2*time.Minute, func() bool { return r.metric("docket_capture_backlog_records") == "0" })
}

// metric is the value of a metric without labels on the proxy's page, "" if it
// is not there.
func (r *rig) metric(name string) string {
	body, err := fetch("http://" + r.opsAddr + "/metrics")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// sql runs a statement in the engine and returns its lines.
func (r *rig) sql(statement string) []string {
	r.t.Helper()
	q := url.Values{"query": {statement}, "database": {"docket"}, "default_format": {"TSV"}}
	u := url.URL{Scheme: "http", User: url.UserPassword("default", "e2e-password"), Host: r.engineAddr, Path: "/", RawQuery: q.Encode()}
	body, err := fetch(u.String())
	if err != nil {
		r.t.Fatalf("%s: %v", statement, err)
	}
	return strings.Split(strings.TrimSuffix(body, "\n"), "\n")
}

// callerSpan is the span of the application in every traceparent that tests send.
const callerSpan = "00f067aa0ba902b7"

func newTraceID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
