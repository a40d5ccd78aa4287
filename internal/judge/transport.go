package judge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"docket/internal/record"
)

const (
	maxAnswerBytes = 8 << 20
	firstWait      = 500 * time.Millisecond
	longestWait    = 5 * time.Second
	longestAsked   = 60 * time.Second // what a server may ask us to wait
	maxMessage     = 500              // characters of an error message that are kept
	userAgent      = "docket-judge"
)

// transport sends requests of one backend: headers, attempts, waits between
// them, limits. It is safe for concurrent use.
type transport struct {
	config  BackendConfig
	profile profile
	client  *http.Client
	sleep   func(context.Context, time.Duration) error
	now     func() time.Time
	random  func() float64
}

func newTransport(c BackendConfig, p profile, o Options) *transport {
	return &transport{config: c, profile: p, client: o.Client, sleep: o.Sleep, now: o.Now, random: o.Random}
}

// endpoint is where calls go.
func (t *transport) endpoint() string { return endpoint(t.profile) }

func endpoint(p profile) string {
	base := strings.TrimRight(p.url, "/")
	if p.path == "/" {
		return p.url
	}
	// A base URL is given with or without /v1: both are meant well.
	if strings.HasSuffix(base, "/v1") && strings.HasPrefix(p.path, "/v1/") {
		base = strings.TrimSuffix(base, "/v1")
	}
	return base + p.path
}

// answered is an HTTP answer that was read to its end.
type answered struct {
	status int
	header http.Header
	body   []byte
}

// post sends a JSON body until it is answered well, or for good, or the time or
// the attempts are used up.
func (t *transport) post(ctx context.Context, body []byte, header http.Header) (answered, int, *callError) {
	ctx, cancel := context.WithTimeout(ctx, t.config.Timeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		got, err := t.once(ctx, body, header)
		wait, again := t.again(got, err, attempt)
		if !again {
			return got, attempt, t.outcome(ctx, got, err)
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait || t.sleep(ctx, wait) != nil {
			return got, attempt, t.outcome(ctx, got, err)
		}
	}
}

func (t *transport) once(ctx context.Context, body []byte, header http.Header) (answered, error) {
	ctx, cancel := context.WithTimeout(ctx, t.profile.attemptTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint(), bytes.NewReader(body))
	if err != nil {
		return answered{}, err
	}
	t.setHeaders(ctx, req.Header)
	for k, v := range header {
		req.Header[k] = v
	}
	res, err := t.client.Do(req)
	if err != nil {
		return answered{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes+1))
	if err != nil {
		return answered{}, err
	}
	if len(data) > maxAnswerBytes {
		return answered{}, &callError{record.ReasonMalformed, fmt.Sprintf("the answer is longer than %d bytes", maxAnswerBytes)}
	}
	return answered{status: res.StatusCode, header: res.Header, body: data}, nil
}

// setHeaders marks the request as the judge's own, so that a Docket proxy on
// its way does not record it and nothing judges it.
func (t *transport) setHeaders(ctx context.Context, h http.Header) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json")
	h.Set("User-Agent", userAgent)
	h.Set("Docket-Capture", record.CaptureOff)
	if tp := traceParent(ctx); tp != "" {
		h.Set("Traceparent", tp)
	}
	if key := t.config.Key.Reveal(); key != "" {
		if name := t.profile.authHeader; name != "" {
			h.Set(name, key)
		} else {
			h.Set("Authorization", "Bearer "+key)
		}
	}
	for k, v := range t.config.Headers {
		h.Set(k, v)
	}
}

// again says whether to try once more, and after what wait.
func (t *transport) again(got answered, err error, attempt int) (time.Duration, bool) {
	if attempt > t.config.Retries {
		return 0, false
	}
	if err != nil {
		var final *callError
		return t.backoff(attempt), !errors.As(err, &final) && !errors.Is(err, context.Canceled)
	}
	if !t.retryable(got.status) {
		return 0, false
	}
	if asked, ok := retryAfter(got.header, t.now()); ok {
		return asked, asked <= longestAsked
	}
	return t.backoff(attempt), true
}

func (t *transport) retryable(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests ||
		status >= 500 && status != http.StatusNotImplemented || slices.Contains(t.profile.retryStatuses, status)
}

// backoff doubles, with up to a quarter less at random.
func (t *transport) backoff(attempt int) time.Duration {
	wait := min(firstWait<<(attempt-1), longestWait)
	return wait - time.Duration(t.random()*float64(wait)/4)
}

// retryAfter reads how long the server wants us to wait: milliseconds in
// Retry-After-Ms, else seconds or a date in Retry-After.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil && ms >= 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	s := strings.TrimSpace(h.Get("Retry-After"))
	if sec, err := strconv.ParseFloat(s, 64); err == nil && sec >= 0 && sec < 1e6 {
		return time.Duration(sec * float64(time.Second)), true
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// outcome turns how the last attempt ended into an error, or nil for an answer
// with status 200.
func (t *transport) outcome(ctx context.Context, got answered, err error) *callError {
	if err == nil && got.status/100 == 2 {
		return nil
	}
	if err == nil {
		return &callError{statusReason(got), t.clean(fmt.Sprintf("status %d: %s", got.status, errorText(got.body)))}
	}
	var own *callError
	if errors.As(err, &own) {
		return own
	}
	var netErr net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return &callError{record.ReasonTimeout, fmt.Sprintf("no answer within %v", min(t.config.Timeout, t.profile.attemptTimeout))}
	case ctx.Err() != nil:
		return &callError{record.ReasonJudgeError, "the call was given up: " + context.Cause(ctx).Error()}
	}
	return &callError{record.ReasonJudgeError, t.clean(err.Error())}
}

// clean takes secrets and line breaks out of a message and shortens it.
func (t *transport) clean(s string) string {
	for _, v := range append([]string{t.config.Key.Reveal(), queryOf(t.profile.url)}, headerValues(t.config.Headers)...) {
		if len(v) >= 4 {
			s = strings.ReplaceAll(s, v, "***")
		}
	}
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "\uFFFD")
	if r := []rune(s); len(r) > maxMessage {
		s = string(r[:maxMessage]) + "…"
	}
	return s
}

// queryOf is what follows the question mark of an address: some servers take
// their key there.
func queryOf(url string) string {
	_, query, _ := strings.Cut(url, "?")
	return query
}

func headerValues(h map[string]string) []string {
	var out []string
	for _, v := range h {
		out = append(out, v)
	}
	return out
}

// realSleep waits, or returns the context's error.
func realSleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func realRandom() float64 { return rand.Float64() }
