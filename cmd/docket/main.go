package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: docket run|demo [flags]

  run    record and judge the traffic of this machine
  demo   see it work, with scripted traffic and no key

docket run -h and docket demo -h list the flags.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "docket:", err)
		os.Exit(1)
	}
}

// run carries out one verb and returns when everything it started has ended.
func run(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(stdout, usage)
		return errors.New("name a command: run or demo")
	}
	switch verb, rest := args[0], args[1:]; verb {
	case "run":
		return runVerb(ctx, rest, getenv, stdout)
	case "demo":
		return demoVerb(ctx, rest, getenv, stdout)
	case "help", "-h", "--help":
		fmt.Fprint(stdout, usage)
		return nil
	default:
		return fmt.Errorf("unknown command %q; allowed: run, demo", verb)
	}
}
