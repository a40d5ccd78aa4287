package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// demoTraffic sends the conversations of the demo through the proxy, as an
// application would.
type demoTraffic struct {
	base   string // of the proxy, with /v1
	scenes []scene
	client *http.Client
}

type demoMessageIn struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id,omitempty"`
	ToolCalls  []any  `json:"tool_calls,omitempty"`
}

// play sends n conversations from the first on, one every pace, until ctx ends.
func (d demoTraffic) play(ctx context.Context, first, n int, pace time.Duration) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(6)
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for i := range n {
		select {
		case <-ctx.Done():
			return group.Wait()
		case <-tick.C:
		}
		group.Go(func() error { return d.conversation(ctx, newPlot(d.scenes, first+i)) })
	}
	return group.Wait()
}

// conversation plays one scene to its end, or until the model fails.
func (d demoTraffic) conversation(ctx context.Context, p plot) error {
	trace := randomHex(16)
	said := []demoMessageIn{{Role: "system", Content: demoSystem}}
	for i, t := range p.scene.Turns {
		said = append(said, demoMessageIn{Role: "user", Content: t.User})
		if tool := p.tool(t); tool != nil {
			if ok, err := d.call(ctx, p, i, trace, said); !ok {
				return err
			}
			id := "call_" + strconv.Itoa(p.number)
			call := map[string]any{"id": id, "type": "function", "function": map[string]any{"name": tool.Name, "arguments": string(tool.Arguments)}}
			said = append(said, demoMessageIn{Role: "assistant", ToolCalls: []any{call}}, demoMessageIn{Role: "tool", ToolCallID: id, Content: string(tool.Result)})
		}
		if ok, err := d.call(ctx, p, i, trace, said); !ok {
			return err
		}
		said = append(said, demoMessageIn{Role: "assistant", Content: p.reply(t)})
	}
	return nil
}

// call makes one call. It returns false when the conversation ends with it; an
// error only when the proxy is not there.
func (d demoTraffic) call(ctx context.Context, p plot, at int, trace string, said []demoMessageIn) (bool, error) {
	body, err := json.Marshal(map[string]any{"model": p.model, "messages": said, "stream": p.number%2 == 0, "user": fmt.Sprintf("customer-%d", p.number%23)})
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Authorization": "Bearer demo", cueHeader: fmt.Sprintf("%d.%d", p.number, at),
		"Traceparent":            "00-" + trace + "-" + randomHex(8) + "-01",
		"Docket-Conversation-Id": fmt.Sprintf("demo-%s-%d", p.scene.Name, p.number), "Docket-Prompt-Name": "service-desk",
		"Docket-Prompt-Version": strconv.Itoa(1 + p.number%2), "Docket-Tags": p.scene.Name,
	} {
		req.Header.Set(name, value)
	}
	res, err := d.client.Do(req)
	if err != nil {
		return false, err
	}
	defer func() { _ = res.Body.Close() }()
	reply, err := io.ReadAll(res.Body)
	// A call that breaks off or is refused is part of the demo.
	whole := err == nil && res.StatusCode == http.StatusOK && !strings.Contains(string(reply), `"refusal"`)
	if err != nil && errors.Is(err, context.Canceled) {
		return false, err
	}
	return whole, nil
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// await polls until the proxy answers at all.
func (d demoTraffic) await(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(d.base, "/v1")+"/", nil)
		if err != nil {
			return err
		}
		if res, err := d.client.Do(req); err == nil {
			_ = res.Body.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
