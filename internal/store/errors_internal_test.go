package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

func TestWhichErrorsAreAboutTheRows(t *testing.T) {
	server := func(code int32) error {
		return fmt.Errorf("send: %w", &clickhouse.HTTPError{StatusCode: 500, Err: &clickhouse.Exception{Code: code}})
	}
	answer := func(status int) error {
		return &clickhouse.HTTPError{StatusCode: status, Err: errors.New("from a proxy on the way")}
	}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"constraint":         {server(469), true},
		"type mismatch":      {server(53), true},
		"cannot parse":       {server(27), true},
		"driver":             {fmt.Errorf("%w: x", clickhouse.ErrBatchInvalid), true},
		"too large":          {answer(http.StatusRequestEntityTooLarge), true},
		"memory limit":       {server(241), false},
		"too many parts":     {server(252), false},
		"timeout":            {server(159), false},
		"read only":          {server(164), false},
		"read only table":    {server(242), false},
		"unknown table":      {server(60), false},
		"unknown database":   {server(81), false},
		"unknown column":     {server(16), false},
		"unknown setting":    {server(115), false},
		"password":           {server(516), false},
		"no space":           {server(243), false},
		"unknown code":       {server(99_999), false},
		"bad gateway":        {answer(http.StatusBadGateway), false},
		"connection refused": {errors.New("connection refused"), false},
		"cancelled":          {context.Canceled, false},
	} {
		var e *RefusedError
		if got := errors.As(insertError("t", 1, tc.err), &e); got != tc.want {
			t.Errorf("%s: refused is %v, want %v", name, got, tc.want)
		}
		if err := insertError("t", 1, tc.err); !errors.Is(err, tc.err) {
			t.Errorf("%s: %v does not wrap its cause", name, err)
		}
	}
	if err := insertError("t", 1, nil); err != nil {
		t.Errorf("got %v", err)
	}
}
