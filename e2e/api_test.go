package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"docket/e2e/program"
)

// call is an inference as the read API shows it, as far as tests look.
type call struct {
	ID string `json:"id"`
}

// verdict is a verdict as the read API shows it.
type verdict struct {
	InferenceID string   `json:"inference_id"`
	TraceID     string   `json:"trace_id"`
	Criterion   string   `json:"criterion"`
	Outcome     string   `json:"outcome"`
	Probability *float64 `json:"probability"`
	InclusionP  float64  `json:"inclusion_probability"`
}

func fetch(address string) (string, error) {
	client := http.Client{Timeout: 5 * time.Minute}
	res, err := client.Get(address)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", res.Status, body)
	}
	return string(body), nil
}

// read gets a page of the read API.
func (r *rig) read(t *testing.T, path string, query url.Values, into any) {
	t.Helper()
	body, err := fetch("http://" + r.apiAddr + "/api/v1" + path + "?" + query.Encode())
	if err != nil {
		t.Fatalf("%s %v: %v", path, query, err)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatalf("%s: %v in %s", path, err, body)
	}
}

// calls lists inferences.
func (r *rig) calls(t *testing.T, query url.Values) []call {
	t.Helper()
	var list struct {
		Inferences []call `json:"inferences"`
	}
	r.read(t, "/inferences", query, &list)
	return list.Inferences
}

// verdicts lists verdicts.
func (r *rig) verdicts(t *testing.T, query url.Values) []verdict {
	t.Helper()
	var list struct {
		Verdicts []verdict `json:"verdicts"`
	}
	r.read(t, "/verdicts", query, &list)
	return list.Verdicts
}

// only waits for the one call of a trace and returns everything about it.
func (r *rig) only(t *testing.T, traceID string) call {
	t.Helper()
	query := url.Values{"trace_id": {traceID}}
	var list []call
	program.Await(t, "the call of trace "+traceID, time.Minute, func() bool {
		list = r.calls(t, query)
		return len(list) > 0
	})
	if len(list) != 1 {
		t.Fatalf("trace %s has %d calls, want one", traceID, len(list))
	}
	var c call
	r.read(t, "/inferences/"+list[0].ID, nil, &c)
	return c
}
