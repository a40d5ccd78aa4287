package fieldcases

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// scenarioFile is the input of a scenario.
type scenarioFile struct {
	Scenario     string
	RequestPath  string `json:"request_path"`
	Steps        []step
	Rows         []oddRow
	QueueLimit   int `json:"queue_limit"`             // the spool has none in rows
	WriteTimeout int `json:"server_write_timeout_ms"` // shorter than the stream
}

// step is one step. Which fields are set depends on Do.
type step struct {
	Do          string
	N           int
	OverMS      int `json:"over_ms"`
	Proxies     int
	SpreadDays  int `json:"started_at_spread_days"`
	Streaming   int `json:"while_streaming"`
	InsertMS    int `json:"insert_ms"`
	MaxMS       int `json:"max_ms"`
	AfterMS     int `json:"after_ms"`
	EveryMS     int `json:"every_ms"`
	Times       int
	Data        string
	Concurrency int
	Traceparent string
	Through     []string
}

// run is a scenario while it runs.
type run struct {
	*suite
	c    fieldCase
	file scenarioFile
}

// scenario does the steps of a case for real.
func (s *suite) scenario(t *testing.T, c fieldCase) {
	r := &run{suite: s, c: c}
	d := json.NewDecoder(bytes.NewReader(c.input))
	d.DisallowUnknownFields()
	if err := d.Decode(&r.file); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	known := map[string]struct {
		steps []string
		do    func(*testing.T)
	}{
		"upstream refuses the connection":        {[]string{"upstream_refuse_connection", "request"}, r.refused},
		"shutdown with rows in memory":           {[]string{"capture", "sigterm", "store_slow", "wait_exit"}, r.shutdown},
		"one batch with bad rows":                {nil, r.oddRows},
		"strings":                                {nil, r.oddRows},
		"many small writes":                      {[]string{"capture", "capture"}, r.manyWrites},
		"store down":                             {[]string{"store_down", "proxy_traffic", "store_up", "flush"}, r.storeDown},
		"two proxies of this product in a chain": {[]string{"client_request"}, r.chain},
		"slow stream":                            {nil, r.slowStream},
	}
	k, ok := known[r.file.Scenario]
	if !ok {
		t.Fatalf("scenario %q is not known", r.file.Scenario)
	}
	var steps []string
	for _, s := range r.file.Steps {
		steps = append(steps, s.Do)
	}
	if k.steps != nil && !slices.Equal(steps, k.steps) {
		t.Fatalf("steps %q are not known for %q, only %q", steps, r.file.Scenario, k.steps)
	}
	k.do(t)
}

// check compares what came with all sections of the expectation.
func (r *run) check(t *testing.T, got tree) {
	t.Helper()
	k := &comparer{c: r.c}
	for _, section := range compared {
		if want := r.c.at(section); want != nil {
			k.compare(section, want, asTree(got[section]))
		}
	}
	for _, diff := range k.diffs {
		t.Error(diff)
	}
}

// atLeast and atMost are the wanted number where the bound holds, for check.
func (r *run) atLeast(n int, keys ...string) int { return max(min(n, r.c.number(keys...)), 0) }

func (r *run) atMost(n int, keys ...string) int { return max(n, r.c.number(keys...)) }

// project is that of the scenario's rows.
func (r *run) project() string {
	id, _, _ := strings.Cut(r.c.name, "-")
	return strings.ToLower(id)
}

// stored counts the rows of the scenario.
func (r *run) stored(t *testing.T) int {
	t.Helper()
	rows := r.count(t, "SELECT count() FROM inferences WHERE project = '"+r.project()+"'")
	if unique := r.count(t, "SELECT uniqExact(inference_id) FROM inferences WHERE project = '"+r.project()+"'"); unique != rows {
		t.Errorf("%d rows of %d inferences", rows, unique)
	}
	return rows
}

// dropped counts what is named as lost.
func (r *run) dropped(t *testing.T) int {
	t.Helper()
	return r.count(t, "SELECT sum(count) FROM capture_gaps WHERE project = '"+r.project()+"' AND reason != 'at_risk'")
}

func (r *run) count(t *testing.T, statement string) int {
	t.Helper()
	var n int
	if err := json.Unmarshal([]byte(r.sql(t, statement)), &n); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return n
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }
