package query

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"docket/internal/record"
)

const (
	defaultLimit = 50
	maxLimit     = 500
	maxSearch    = 200     // bytes of a search text
	maxText      = 8 << 10 // bytes of a value to compare with: what is stored has to be findable
)

// params reads query parameters, and refuses those that nobody reads: a
// misspelt filter must not look like an empty result.
type params struct {
	values url.Values
	now    time.Time
	err    error
}

func newParams(values url.Values, allowed ...string) *params {
	p := &params{values: values, now: time.Now()}
	for name := range values {
		if !slices.Contains(allowed, name) {
			p.fail(fmt.Errorf("unknown parameter %q: allowed are %s", name, strings.Join(allowed, ", ")))
		}
	}
	return p
}

func (p *params) fail(err error) {
	if p.err == nil {
		p.err = badRequest{err}
	}
}

// text reads a value to compare with, such as an id.
func (p *params) text(name string) string { return p.atMost(name, maxText) }

// search reads a text to look for.
func (p *params) search(name string) string { return p.atMost(name, maxSearch) }

func (p *params) atMost(name string, maxBytes int) string {
	v := strings.TrimSpace(p.values.Get(name))
	if len(v) > maxBytes {
		p.fail(fmt.Errorf("%s: %d bytes, at most %d are allowed", name, len(v), maxBytes))
	}
	return v
}

func (p *params) oneOf(name string, allowed ...string) string {
	v := p.text(name)
	if v != "" && !slices.Contains(allowed, v) {
		p.fail(fmt.Errorf("%s: %q: allowed are %s", name, v, strings.Join(allowed, ", ")))
	}
	return v
}

// hexID reads a trace id in any letter case, with or without hyphens.
func (p *params) hexID(name string, digits int) string {
	v := strings.ToLower(strings.ReplaceAll(p.text(name), "-", ""))
	if v != "" && (len(v) != digits || strings.Trim(v, "0123456789abcdef") != "") {
		p.fail(fmt.Errorf("%s: %q: want %d hexadecimal digits", name, v, digits))
	}
	return v
}

// time reads an RFC 3339 time, Unix seconds, or a duration back from now such
// as "90m" or "7d".
func (p *params) time(name string) time.Time {
	v := p.text(name)
	if v == "" {
		return time.Time{}
	}
	if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
		return t.UTC()
	}
	if n, err := strconv.ParseInt(v, 10, 64); err == nil && n >= 0 && n < 1<<33 {
		return time.Unix(n, 0).UTC()
	}
	if days, ok := strings.CutSuffix(v, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 36500 {
			return p.now.AddDate(0, 0, -n).UTC()
		}
	}
	if d, err := time.ParseDuration(v); err == nil && d >= 0 {
		return p.now.Add(-d).UTC()
	}
	p.fail(fmt.Errorf("%s: %q: want a time such as 2026-11-30T12:00:00Z, Unix seconds, or an age such as 90m or 7d", name, v))
	return time.Time{}
}

func (p *params) limit() int {
	v := p.text("limit")
	if v == "" {
		return defaultLimit
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > maxLimit {
		p.fail(fmt.Errorf("limit: %q: want a whole number from 1 to %d", v, maxLimit))
	}
	return n
}

// uuid reads an id of ours in any letter case.
func (p *params) uuid(name string) string {
	v := p.text(name)
	if v == "" {
		return ""
	}
	id, err := uuid.Parse(v)
	if err != nil {
		p.fail(fmt.Errorf("%s: %q: %w", name, v, err))
	}
	return id.String()
}

func (p *params) cursor() record.Cursor {
	c := p.anyCursor()
	if c.ID != "" && uuid.Validate(c.ID) != nil {
		p.fail(fmt.Errorf("cursor: %q is not one that a list returned", p.values.Get("cursor")))
	}
	return c
}

// anyCursor reads a place in a list whose ids may be any text.
func (p *params) anyCursor() record.Cursor {
	v := p.values.Get("cursor")
	if v == "" {
		return record.Cursor{}
	}
	c, err := parseCursor(v)
	if err != nil {
		p.fail(fmt.Errorf("cursor: %q is not one that a list returned", v))
	}
	return c
}

func formatCursor(c record.Cursor) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.Time.UnixMicro(), 10) + "/" + c.ID))
}

func parseCursor(s string) (record.Cursor, error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return record.Cursor{}, err
	}
	micros, id, ok := strings.Cut(string(raw), "/")
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil || !ok || id == "" {
		return record.Cursor{}, fmt.Errorf("malformed cursor")
	}
	return record.Cursor{Time: time.UnixMicro(n).UTC(), ID: id}, nil
}
