// Command suite measures several proxies side by side: it starts the mock
// upstream and each target, takes turns between them phase by phase and round
// by round, and prints one table of medians for each phase.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"docket/bench/internal/loadgen"
	"docket/bench/internal/payload"
	"docket/bench/internal/procstat"
)

// Target is one thing to send load to.
type Target struct {
	Name    string            `json:"name"`
	URL     string            `json:"url"`     // base, without the path
	Path    string            `json:"path"`    // default /v1/chat/completions
	Model   string            `json:"model"`   // default mock-model
	Headers []string          `json:"headers"` // "Name: value"
	Cmd     []string          `json:"cmd"`     // how to start it; empty if it runs already
	Env     map[string]string `json:"env"`
	Dir     string            `json:"dir"`
	PID     int               `json:"pid"` // of a target that runs already
	// Backlog is where the target tells how much it still has to record:
	// "URL metric", a page of Prometheus text and the gauge to wait for to be 0.
	Backlog string `json:"backlog"`

	addr string
	out  *os.File
	cmd  *exec.Cmd
}

// Phase is one kind of load.
type Phase struct {
	Name, About   string
	Stream, Image bool
	Size          int    // request bytes
	Shape         string // query of /__mock
	Rate          float64
	Conns         int
}

var phases = []Phase{
	{"a500", "JSON, 2 KB request, 1 KB response, 500 requests/s", false, false, 2048, "ttft=0s&size=1024", 500, 64},
	{"a2000", "JSON, 2 KB request, 1 KB response, 2000 requests/s", false, false, 2048, "ttft=0s&size=1024", 2000, 256},
	{"amax", "JSON, 2 KB request, 1 KB response, closed loop, 32 connections", false, false, 2048, "ttft=0s&size=1024", 0, 32},
	{"b50", "stream of 100 chunks without gaps, 50 streams/s", true, false, 2048, "ttft=0s&chunks=100&gap=0s", 50, 64},
	{"bmax", "stream of 100 chunks without gaps, closed loop, 16 connections", true, false, 2048, "ttft=0s&chunks=100&gap=0s", 0, 16},
	{"c50", "stream of 100 chunks, 5 ms gaps, 50 at once", true, false, 2048, "ttft=20ms&chunks=100&gap=5ms", 0, 50},
	{"c200", "stream of 100 chunks, 5 ms gaps, 200 at once", true, false, 2048, "ttft=20ms&chunks=100&gap=5ms", 0, 200},
	{"d40", "JSON, 1 MB request with an image, 1 KB response, 40 requests/s", false, true, 1 << 20, "ttft=0s&size=1024", 40, 32},
	{"dmax", "JSON, 1 MB request with an image, 1 KB response, closed loop, 8 connections", false, true, 1 << 20, "ttft=0s&size=1024", 0, 8},
}

// Sample is one target in one phase of one round.
type Sample struct {
	Round  int
	Phase  string
	Target string
	CPU    float64 // µs a request, of the target and its descendants
	Sys    float64 // share of CPU spent in the kernel
	RSS    float64 // MiB
	Peak   float64 // MiB, since the process started
	Other  float64 // cores busy with neither target, mock nor load generator
	Res    loadgen.Result
}

// Targets are told to end when the thread that started them does, so they are
// all started from the main thread, which lives as long as the process.
func init() { runtime.LockOSThread() }

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// run measures and prints. It returns after everything it started has ended.
func run() error {
	var (
		bin      = flag.String("bin", "", "folder of the built mockllm and floor")
		file     = flag.String("targets", "", "JSON file with a list of further targets")
		name     = flag.String("name", "target", "name of the target given by -url")
		base     = flag.String("url", "", "base URL of one further target")
		command  = flag.String("cmd", "", "shell command that starts it, which must stay in the foreground")
		pid      = flag.Int("pid", 0, "its process, if it runs already")
		header   = flag.String("header", "", `its request headers, "Name: value", separated by newlines`)
		model    = flag.String("model", "", "model to name in its requests")
		path     = flag.String("path", "", "request path")
		backlog  = flag.String("backlog", "", `its backlog gauge, "URL metric": a reading ends when it is 0`)
		floors   = flag.String("floors", "direct,nginx,plain,gin", "which of the built-in targets to run")
		only     = flag.String("phases", ".", "regular expression of phases to run")
		rounds   = flag.Int("rounds", 3, "rounds")
		dur      = flag.Duration("d", 4*time.Second, "length of a phase")
		mockAddr = flag.String("mock", "127.0.0.1:9901", "address for the mock")
		outFile  = flag.String("o", "", "file for every sample, as JSON")
		memory   = flag.Bool("memory", false, "print only the memory of the target given by -url")
		spare    = flag.Bool("pin", false, "pin targets to CPU 1 and the mock and load to CPU 0")
	)
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tmp, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)

	targets, err := builtin(*floors, *bin, *mockAddr, tmp)
	if err != nil {
		return err
	}
	if *file != "" {
		b, err := os.ReadFile(*file)
		if err != nil {
			return err
		}
		var more []*Target
		if err := json.Unmarshal(b, &more); err != nil {
			return err
		}
		targets = append(targets, more...)
	}
	if *base != "" {
		t := &Target{Name: *name, URL: *base, Path: *path, Model: *model, PID: *pid, Backlog: *backlog}
		if *header != "" {
			t.Headers = strings.Split(*header, "\n")
		}
		if *command != "" {
			t.Cmd = []string{"sh", "-c", "exec " + *command}
		}
		targets = append(targets, t)
	}

	mock := &Target{Name: "mockllm", URL: "http://" + *mockAddr, Cmd: []string{filepath.Join(*bin, "mockllm"), "-addr", *mockAddr}}
	all := append([]*Target{mock}, targets...)
	defer func() {
		for _, t := range all {
			t.stop()
		}
	}()
	if *spare {
		pinSelf(0)
	}
	for _, t := range all {
		if err := t.start(tmp, *spare && t != mock); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
	}

	var samples []Sample
	for r := range *rounds {
		for _, p := range phases {
			if !match.MatchString(p.Name) {
				continue
			}
			want, err := setShape(*mockAddr, p)
			if err != nil {
				return err
			}
			for i := range targets {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				t := targets[(i+r)%len(targets)]
				s, err := measure(ctx, t, mock, p, want, *dur)
				if err != nil {
					log.Printf("%s %s: %v", p.Name, t.Name, err)
					continue
				}
				s.Round = r
				samples = append(samples, s)
				fmt.Fprintf(os.Stderr, "%d %-6s %-14s %8.0f/s cpu %8.1fµs p50 %8.0f p99 %8.0f other %.2f errors %v\n", r, p.Name, t.Name, s.Res.RPS, s.CPU, s.Res.Latency.P50, s.Res.Latency.P99, s.Other, s.Res.Errors)
			}
		}
	}
	if *outFile != "" {
		b, _ := json.MarshalIndent(samples, "", " ")
		if err := os.WriteFile(*outFile, b, 0o644); err != nil {
			log.Print(err)
		}
	}
	if *memory {
		peak(os.Stdout, *name, samples)
		return nil
	}
	report(os.Stdout, targets, samples)
	if *base != "" {
		ratios(os.Stdout, *name, samples)
	}
	return nil
}

func builtin(list, bin, mock, tmp string) ([]*Target, error) {
	var out []*Target
	floor := func(name, addr string, args ...string) *Target {
		return &Target{Name: name, URL: "http://" + addr, Cmd: append([]string{filepath.Join(bin, "floor"), "-addr", addr, "-upstream", "http://" + mock}, args...)}
	}
	for n := range strings.SplitSeq(list, ",") {
		switch n {
		case "":
		case "direct":
			out = append(out, &Target{Name: n, URL: "http://" + mock})
		case "nginx":
			exe, err := exec.LookPath("nginx")
			if err != nil {
				log.Print("no nginx here: left out")
				continue
			}
			conf := filepath.Join(tmp, "nginx.conf")
			if err := os.WriteFile(conf, []byte(nginxConf(tmp, mock)), 0o644); err != nil {
				return nil, err
			}
			out = append(out, &Target{Name: n, URL: "http://127.0.0.1:9911", Cmd: []string{exe, "-c", conf, "-p", tmp, "-e", filepath.Join(tmp, "nginx.err")}})
		case "plain":
			out = append(out, floor(n, "127.0.0.1:9921"))
		case "gin":
			out = append(out, floor(n, "127.0.0.1:9922", "-gin"))
		case "tee", "hash", "parse", "rows": // the floor with part of the work of recording
			addr := map[string]string{"tee": "127.0.0.1:9923", "hash": "127.0.0.1:9924", "parse": "127.0.0.1:9925", "rows": "127.0.0.1:9926"}[n]
			out = append(out, floor("plain+"+n, addr, "-capture", n))
		default:
			return nil, fmt.Errorf("no built-in target %q", n)
		}
	}
	return out, nil
}

func nginxConf(tmp, mock string) string {
	return strings.NewReplacer("TMP", tmp, "MOCK", mock).Replace(`daemon off;
worker_processes auto;
pid TMP/nginx.pid;
error_log TMP/nginx.err error;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path TMP/b; proxy_temp_path TMP/p; fastcgi_temp_path TMP/f; uwsgi_temp_path TMP/u; scgi_temp_path TMP/s;
  keepalive_requests 100000000;
  client_max_body_size 64m;
  client_body_buffer_size 2m;
  upstream mock { server MOCK; keepalive 1024; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:9911;
    location / {
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`)
}

func (t *Target) start(tmp string, pinned bool) error {
	u, err := url.Parse(t.URL)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("refusing %s: not a loopback address", t.URL)
	}
	t.addr = u.Host
	if t.Path == "" {
		t.Path = "/v1/chat/completions"
	}
	t.Path = u.Path + t.Path
	if t.Model == "" {
		t.Model = "mock-model"
	}
	if len(t.Cmd) > 0 {
		if c, err := net.DialTimeout("tcp", t.addr, time.Second); err == nil {
			c.Close()
			return fmt.Errorf("something else listens on %s", t.addr)
		}
		args := t.Cmd
		if pinned {
			args = append([]string{"taskset", "-c", "1"}, args...)
		}
		t.out, err = os.Create(filepath.Join(tmp, strings.ReplaceAll(t.Name, "/", "_")+".log"))
		if err != nil {
			return err
		}
		t.cmd = exec.Command(args[0], args[1:]...)
		t.cmd.Stdout, t.cmd.Stderr, t.cmd.Dir = t.out, t.out, t.Dir
		t.cmd.Env = os.Environ()
		for k, v := range t.Env {
			t.cmd.Env = append(t.cmd.Env, k+"="+v)
		}
		t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
		if err := t.cmd.Start(); err != nil {
			return err
		}
		t.PID = t.cmd.Process.Pid
	}
	for range 300 {
		c, err := net.DialTimeout("tcp", t.addr, time.Second)
		if err == nil {
			c.Close()
			return nil
		}
		if t.cmd != nil {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d/fd/0", t.PID)); err != nil {
				break
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	if t.out != nil {
		b, _ := os.ReadFile(t.out.Name())
		return fmt.Errorf("does not listen on %s; it said: %s", t.addr, b[max(len(b)-2000, 0):])
	}
	return fmt.Errorf("nothing listens on %s", t.addr)
}

// stop ends a target that start started, asking before insisting.
func (t *Target) stop() {
	if t.cmd == nil || t.cmd.Process == nil {
		return
	}
	_ = syscall.Kill(-t.PID, syscall.SIGTERM)
	done := make(chan struct{})
	go func() { _ = t.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = syscall.Kill(-t.PID, syscall.SIGKILL)
		<-done
	}
	t.out.Close()
}

// setShape sets the mock's shape and returns the checksum of its answer.
func setShape(mock string, p Phase) (uint32, error) {
	res, err := http.Get("http://" + mock + "/__mock?" + p.Shape)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var s struct {
		JSON   uint32 `json:"json_crc"`
		Stream uint32 `json:"stream_crc"`
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return 0, fmt.Errorf("%w: %s", err, b)
	}
	if p.Stream {
		return s.Stream, nil
	}
	return s.JSON, nil
}

func measure(ctx context.Context, t, mock *Target, p Phase, want uint32, dur time.Duration) (Sample, error) {
	make := payload.ChatRequest
	if p.Image {
		make = payload.ImageRequest
	}
	body := make(t.Model, p.Stream, p.Size)
	spec := loadgen.Spec{
		Addr: t.addr, Path: t.Path, Headers: t.Headers, Body: body, Conns: p.Conns,
		Timeout: 10 * time.Second, WantCRC: want, ReqCRC: crc32.Checksum(body, payload.Table),
	}
	warm := spec
	warm.Duration, warm.Requests, warm.Conns = time.Second, 2*p.Conns, min(p.Conns, 16)
	if _, err := loadgen.Run(ctx, warm); err != nil {
		return Sample{}, err
	}
	if err := settle(ctx, t); err != nil {
		return Sample{}, err
	}

	before, err := readAll(t.PID, mock.PID)
	if err != nil {
		return Sample{}, err
	}
	spec.Rate, spec.Duration = p.Rate, dur
	res, err := loadgen.Run(ctx, spec)
	if err != nil {
		return Sample{}, err
	}
	loaded, err := readAll(t.PID, mock.PID)
	if err != nil {
		return Sample{}, err
	}
	// What is recorded behind the traffic's back is charged too.
	unsettled := settle(ctx, t)
	after, err := readAll(t.PID, mock.PID)
	if err != nil {
		return Sample{}, err
	}
	s := Sample{Phase: p.Name, Target: t.Name, Res: res, RSS: float64(loaded.target.RSS) / (1 << 20), Peak: float64(loaded.target.Peak) / (1 << 20)}
	if unsettled != nil {
		fmt.Fprintf(os.Stderr, "%s, %s: no CPU figure: %v\n", t.Name, p.Name, unsettled)
	} else if res.OK > 0 {
		cpu := after.target.CPU(before.target)
		s.CPU = float64(cpu.Microseconds()) / float64(res.OK)
		if cpu > 0 {
			if all := after.target.User + after.target.Sys - before.target.User - before.target.Sys; all > 0 {
				s.Sys = float64(after.target.Sys-before.target.Sys) / float64(all)
			}
		}
	}
	ours := loaded.target.CPU(before.target) + loaded.mock.CPU(before.mock) + loaded.self - before.self
	s.Other = max(float64(loaded.busy-before.busy-ours)/float64(res.Elapsed), 0)
	return s, nil
}

// settle waits until the target has recorded all it took in: until its backlog
// is 0 where it tells one (two minutes at most, then an error), and until the
// process uses little CPU (3 seconds at most).
func settle(ctx context.Context, t *Target) error {
	if t.Backlog != "" {
		if err := waitBacklog(ctx, t.Backlog, 2*time.Minute); err != nil {
			return err
		}
	}
	if t.PID == 0 {
		time.Sleep(300 * time.Millisecond)
		return nil
	}
	last, err := procstat.Read(t.PID)
	for range 15 {
		time.Sleep(200 * time.Millisecond)
		now, err2 := procstat.Read(t.PID)
		if err != nil || err2 != nil || now.CPU(last) <= 10*time.Millisecond {
			return nil
		}
		last = now
	}
	return nil
}

// waitBacklog polls a gauge until all its samples are 0, twice in a row.
func waitBacklog(ctx context.Context, spec string, limit time.Duration) error {
	url, metric, ok := strings.Cut(spec, " ")
	if !ok {
		return fmt.Errorf("backlog %q is not \"URL metric\"", spec)
	}
	var last float64
	empty := 0
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		sum, err := gauge(ctx, url, metric)
		if err != nil {
			return err
		}
		if last = sum; sum != 0 {
			empty = 0
		} else if empty++; empty == 2 {
			return nil
		}
	}
	return fmt.Errorf("a backlog of %g is left after %s", last, limit)
}

// gauge sums the samples of one metric on a page of Prometheus text.
func gauge(ctx context.Context, url, metric string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	var sum float64
	found := false
	for line := range strings.Lines(string(page)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name, _, _ = strings.Cut(name, "{"); name != metric {
			continue
		}
		fields := strings.Fields(line[strings.LastIndexByte(line, '}')+1:])
		if !strings.Contains(line, "}") {
			fields = fields[1:]
		}
		if len(fields) == 0 {
			continue
		}
		v, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", metric, err)
		}
		sum, found = sum+v, true
	}
	if !found {
		return 0, fmt.Errorf("%s has no metric %s", url, metric)
	}
	return sum, nil
}

type reading struct {
	target, mock procstat.Usage
	self, busy   time.Duration
}

func readAll(target, mock int) (reading, error) {
	var r reading
	var err error
	if target > 0 {
		if r.target, err = procstat.Read(target); err != nil {
			return r, err
		}
	}
	if r.mock, err = procstat.Read(mock); err != nil {
		return r, err
	}
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return r, err
	}
	r.self = time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	r.busy, err = procstat.Busy()
	return r, err
}

func pinSelf(cpu int) {
	mask := [16]uint64{1 << cpu}
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		var tid int
		_, _ = fmt.Sscan(t.Name(), &tid)
		_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(tid), uintptr(len(mask)*8), uintptrOf(&mask))
	}
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
