package e2e

import (
	"encoding/json"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"docket/e2e/program"
)

// startDocket runs the supervisor with all its parts beside it.
func startDocket(t *testing.T, dir string, env []string, args ...string) *program.Program {
	t.Helper()
	for _, name := range []string{"proxy", "evaluator", "localclickhouse"} {
		built(t, name)
	}
	return program.Start(t, built(t, "docket"), dir, append(env, "DOCKET_LIBCHDB="+program.Library(t, "..")), args...)
}

// TestDemo: soon after its start the demo shows calls and verdicts of
// more than one outcome, and it stops in order.
func TestDemo(t *testing.T) {
	dir, api := t.TempDir(), program.FreeAddr(t)
	p := startDocket(t, dir, nil, "demo", "--listen", program.FreeAddr(t), "--api-listen", api, "--ops-listen", program.FreeAddr(t))
	r := &rig{t: t, apiAddr: api}
	p.AwaitListening(api)
	outcomes := map[string]int{}
	program.Await(t, "verdicts of the demo", time.Minute, func() bool {
		body, err := fetch("http://" + api + "/api/v1/verdicts?limit=200")
		var list struct{ Verdicts []verdict }
		if err != nil || json.Unmarshal([]byte(body), &list) != nil {
			return false // the store is not ready yet
		}
		clear(outcomes)
		for _, v := range list.Verdicts {
			outcomes[v.Outcome]++
		}
		return outcomes["pass"] > 50 && outcomes["fail"] > 3
	})
	if calls := r.calls(t, url.Values{"environment": {"demo"}, "limit": {"10"}}); len(calls) != 10 {
		t.Errorf("%d calls in environment demo", len(calls))
	}
	p.Stop()
	if code := p.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	checkStopOrder(t, p)
}

func checkStopOrder(t *testing.T, p *program.Program) {
	t.Helper()
	var stops []string
	for line := range strings.Lines(p.Log()) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "| stopping "); ok {
			stops = append(stops, name)
		}
	}
	if !slices.Equal(stops, []string{"evaluator", "proxy", "localclickhouse"}) {
		t.Errorf("stopped %q", stops)
	}
}

// TestRun: docket run records what an application says, also while its engine
// is killed and comes back, and finds it again after a restart.
func TestRun(t *testing.T) {
	r := newRig(t)
	env := []string{
		"DOCKET_PROXY_LISTEN=" + r.proxyAddr, "DOCKET_PROXY_OPS_LISTEN=" + r.opsAddr,
		"DOCKET_EVALUATOR_API_LISTEN=" + r.apiAddr, "DOCKET_UPSTREAM=" + r.upstream.URL + "/v1",
	}
	p := startDocket(t, r.dir, env, "run")
	p.AwaitListening(r.proxyAddr)
	p.AwaitListening(r.apiAddr)
	ask(t, r, "before the engine dies", "run-1")
	r.drained()

	killEngine(t, p, r)
	ask(t, r, "while the engine is away", "run-2")
	program.Await(t, "the engine's restart", time.Minute, func() bool { return strings.Contains(p.Log(), "starting it again") })
	r.drained()
	program.Await(t, "both calls", time.Minute, func() bool { return reads(r, "/api/v1/inferences", "run-1", "run-2") })
	p.Stop()
	checkStopOrder(t, p)

	p = startDocket(t, r.dir, env, "run")
	p.AwaitListening(r.apiAddr)
	program.Await(t, "both calls after a restart", time.Minute, func() bool { return reads(r, "/api/v1/inferences", "run-1", "run-2") })
	info, err := os.Stat(filepath.Join(r.dir, "data", "clickhouse", "password"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("password file: %v, %v", info, err)
	}
}

// reads says whether a page of the API mentions all the words.
func reads(r *rig, path string, words ...string) bool {
	body, err := fetch("http://" + r.apiAddr + path)
	return err == nil && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(body, w) })
}

// killEngine ends the engine as an out-of-memory kill would.
func killEngine(t *testing.T, p *program.Program, r *rig) {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range entries {
		data, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(data), filepath.Join(folder, "localclickhouse")) {
			continue
		}
		dir := filepath.Dir(name)
		cwd, err := os.Readlink(filepath.Join(dir, "cwd"))
		if err != nil || cwd != r.dir {
			continue
		}
		pid := 0
		for _, d := range filepath.Base(dir) {
			pid = pid*10 + int(d-'0')
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no engine of %s", p.Name)
}

// TestTakenPort: the error names the setting.
func TestTakenPort(t *testing.T) {
	r := newRig(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, c := range []struct{ variable, setting string }{
		{"DOCKET_PROXY_LISTEN", "proxy.listen"},
		{"DOCKET_EVALUATOR_API_LISTEN", "evaluator.api.listen"},
	} {
		env := []string{
			"DOCKET_STORE=http://127.0.0.1:9/docket", "DOCKET_PROXY_LISTEN=" + program.FreeAddr(t), "DOCKET_PROXY_OPS_LISTEN=" + program.FreeAddr(t),
			"DOCKET_EVALUATOR_API_LISTEN=" + r.apiAddr, c.variable + "=" + ln.Addr().String(),
		}
		p := startDocket(t, t.TempDir(), env, "run")
		program.Await(t, "docket run to give up", time.Minute, p.Ended)
		if p.ExitCode() == 0 || !strings.Contains(p.Log(), c.setting) {
			t.Errorf("%s is taken: exit code %d", c.setting, p.ExitCode())
		}
	}
}
