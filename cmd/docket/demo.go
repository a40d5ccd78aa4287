package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// demoOptions are the flags of the demo.
type demoOptions struct {
	data          string
	listen        string
	apiListen     string
	opsListen     string
	conversations int
	every         time.Duration // between conversations once the first ones are played
}

func parseDemo(args []string, stdout io.Writer) (demoOptions, error) {
	var o demoOptions
	flags := flag.NewFlagSet("docket demo", flag.ContinueOnError)
	flags.SetOutput(stdout)
	flags.StringVar(&o.data, "data", "data-demo", "folder of everything that is kept")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address of the proxy")
	flags.StringVar(&o.apiListen, "api-listen", "127.0.0.1:8081", "address of the page and the read API")
	flags.StringVar(&o.opsListen, "ops-listen", "127.0.0.1:8082", "address of the proxy's metrics")
	flags.IntVar(&o.conversations, "conversations", 300, "how many conversations to play at the start")
	flags.DurationVar(&o.every, "every", 5*time.Second, "pause between further conversations")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unknown argument %q", flags.Arg(0))
	case o.conversations < 1 || o.conversations > 100_000:
		return o, fmt.Errorf("--conversations %d: want 1 to 100000", o.conversations)
	case o.every < 100*time.Millisecond:
		return o, fmt.Errorf("--every %s: want 100ms or more", o.every)
	}
	return o, nil
}

func demoVerb(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	d, err := parseDemo(args, stdout)
	if err != nil {
		return err
	}
	bin, err := ownFolder()
	if err != nil {
		return err
	}
	return d.run(ctx, bin, getenv, stdout)
}

// run serves the scripted upstream and judge, and runs everything with them.
func (d demoOptions) run(ctx context.Context, bin string, getenv func(string) string, stdout io.Writer) error {
	scenes, err := loadScenes()
	if err != nil {
		return err
	}
	stdout = &lockedWriter{out: stdout}
	o := options{bin: bin, data: d.data}
	if err := o.inspect(getenv); err != nil {
		return err
	}
	if o.file, err = writeDemoSettings(d.data); err != nil {
		return err
	}
	servers, ctx := errgroup.WithContext(ctx)
	upstream, err := serveLoopback(ctx, servers, demoUpstream{scenes})
	if err != nil {
		return err
	}
	judge, err := serveLoopback(ctx, servers, demoJudge{})
	if err != nil {
		return err
	}
	o.env = []string{
		"DOCKET_CAPTURE_ENVIRONMENT=demo", "DOCKET_UPSTREAM=" + upstream + "/v1",
		"DOCKET_JUDGE_BACKEND=systemone", "DOCKET_JUDGE_URL=" + judge, "DOCKET_JUDGE_MODEL=demo-judge", "DOCKET_JUDGE_KEY=",
		"DOCKET_EVALUATOR_API_LISTEN=" + d.apiListen,
	}
	o.proxy = []string{"--listen", d.listen, "--ops-listen", d.opsListen}
	o.ready = func(ctx context.Context) error { return d.play(ctx, scenes, stdout) }
	servers.Go(func() error {
		if err := supervise(ctx, o, stdout); err != nil {
			return err
		}
		return errDone
	})
	if err := servers.Wait(); !errors.Is(err, errDone) {
		return err
	}
	return nil
}

// errDone ends the demo's servers when all else has ended.
var errDone = errors.New("done")

// writeDemoSettings writes the settings where the user can read and change them.
func writeDemoSettings(dir string) (string, error) {
	text, err := demoFiles.ReadFile("demo/docket.yaml")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "docket.yaml")
	return file, os.WriteFile(file, text, 0o600)
}

// serveLoopback serves a handler on a free loopback port until ctx ends.
func serveLoopback(ctx context.Context, group *errgroup.Group, handler http.Handler) (base string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	group.Go(func() error {
		if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return "http://" + ln.Addr().String(), nil
}

// play sends the first conversations close together, then one now and again, so
// that the page has something to show live.
func (d demoOptions) play(ctx context.Context, scenes []scene, stdout io.Writer) error {
	traffic := demoTraffic{base: "http://" + d.listen + "/v1", scenes: scenes, client: &http.Client{Timeout: time.Minute}}
	defer traffic.client.CloseIdleConnections()
	if err := traffic.await(ctx); err != nil {
		return err
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(stdout, "%-15s | %s\n", "docket", fmt.Sprintf(format, args...))
	}
	say("playing %d conversations, some of which break off on purpose; see them at http://%s", d.conversations, d.apiListen)
	if err := traffic.play(ctx, 0, d.conversations, demoPace); err != nil {
		return fmt.Errorf("play the demo: %w", err)
	}
	say("played; one more every %s until you press Ctrl-C", d.every)
	if err := traffic.play(ctx, d.conversations, math.MaxInt32, d.every); err != nil {
		return fmt.Errorf("play the demo: %w", err)
	}
	return nil
}

// demoPace spreads the first conversations over some time.
const demoPace = 80 * time.Millisecond
