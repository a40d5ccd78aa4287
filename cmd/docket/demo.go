package main

import (
	"context"
	"errors"
	"io"
)

func demoVerb(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	return errors.New("not yet")
}
