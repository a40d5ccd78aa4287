package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"docket/internal/localclickhouse"
	"docket/internal/record"
)

// options are the flags.
type options struct {
	listen       string
	data         string
	library      string
	passwordFile string
	portFile     string
	memory       record.ByteSize
	threads      int
	fsync        bool
	ephemeral    bool
	untilEOF     bool
}

func parseFlags(args []string, stdout io.Writer) (options, error) {
	defaults := localclickhouse.DefaultOptions()
	o := options{memory: record.ByteSize(defaults.Memory)}
	flags := flag.NewFlagSet("localclickhouse", flag.ContinueOnError)
	flags.SetOutput(stdout)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8123", "loopback address to serve on; port 0 takes a free one")
	flags.StringVar(&o.data, "data", filepath.Join("data", "clickhouse"), "folder of the database")
	flags.StringVar(&o.library, "lib", "", "libchdb.so (default: $DOCKET_LIBCHDB, beside this program, .cache/libchdb, /usr/local/lib)")
	flags.StringVar(&o.passwordFile, "password-file", "", "file with the password of user default; made if missing (default: password in the data folder)")
	flags.StringVar(&o.portFile, "port-file", "", "file to write host:port to when ready")
	flags.TextVar(&o.memory, "memory", o.memory, "memory the engine may use")
	flags.IntVar(&o.threads, "threads", defaults.Threads, "threads of one statement")
	flags.BoolVar(&o.fsync, "fsync", false, "answer inserts when they are on the disk, so that they survive a power loss")
	flags.BoolVar(&o.ephemeral, "ephemeral", false, "remove the data folder at the end; it must be empty or missing at the start")
	flags.BoolVar(&o.untilEOF, "until-stdin-closes", false, "stop when standard input ends, so as not to outlive the parent")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	return o, o.validate()
}

func (o options) validate() error {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return fmt.Errorf("--listen %q: it must be an address like 127.0.0.1:8123", o.listen)
	}
	addr, err := netip.ParseAddr(host)
	if host != "localhost" && (err != nil || !addr.IsLoopback()) {
		return fmt.Errorf("--listen %q: the embedded ClickHouse serves loopback only, such as 127.0.0.1:8123; run a ClickHouse server for other machines", o.listen)
	}
	return nil
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout io.Writer) (err error) {
	o, err := parseFlags(args, stdout)
	if err != nil {
		return err
	}
	if o.untilEOF {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			defer cancel()
			_, _ = io.Copy(io.Discard, stdin)
		}()
	}
	library, err := localclickhouse.FindLibrary(o.library, getenv)
	if err != nil {
		return err
	}
	if o.ephemeral {
		if err := checkEmpty(o.data); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.data)) }()
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer func() { _ = listener.Close() }()
	server, err := o.open(library)
	if err != nil {
		return err
	}
	return o.serve(ctx, server, listener, stdout)
}

func (o options) open(library string) (*localclickhouse.Server, error) {
	password, err := localclickhouse.EnsurePassword(o.passwordPath())
	if err != nil {
		return nil, err
	}
	opts := localclickhouse.DefaultOptions()
	opts.Data, opts.Library, opts.Password = o.data, library, password
	opts.Memory, opts.Threads, opts.Fsync = int64(o.memory), o.threads, o.fsync
	return localclickhouse.Open(opts)
}

func (o options) passwordPath() string {
	if o.passwordFile != "" {
		return o.passwordFile
	}
	return filepath.Join(o.data, "password")
}

// serve announces the address and waits for the end.
func (o options) serve(ctx context.Context, server *localclickhouse.Server, listener net.Listener, stdout io.Writer) error {
	ended := make(chan error, 1) // one value: Serve's
	go func() { ended <- server.Serve(listener) }()
	err := o.announce(listener.Addr().String(), stdout)
	if err == nil {
		select {
		case err = <-ended:
			return errors.Join(err, server.Close())
		case <-ctx.Done():
		}
	}
	err = errors.Join(err, server.Close())
	return errors.Join(err, <-ended)
}

// announce says that the server is ready. The port file appears whole or not
// at all.
func (o options) announce(addr string, stdout io.Writer) error {
	if o.portFile != "" {
		part := o.portFile + ".part"
		if err := os.WriteFile(part, []byte(addr+"\n"), 0o600); err != nil {
			return fmt.Errorf("--port-file: %w", err)
		}
		if err := os.Rename(part, o.portFile); err != nil {
			return fmt.Errorf("--port-file: %w", err)
		}
	}
	_, err := fmt.Fprintln(stdout, "listening on "+strings.TrimSpace(addr))
	return err
}

// checkEmpty makes sure that --ephemeral removes nothing but its own files.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("--data %s: with --ephemeral the folder must be empty or missing", dir)
	}
	return nil
}
