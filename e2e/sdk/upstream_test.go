package sdk

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// upstream is a scripted model API of every provider.
type upstream struct {
	*httptest.Server
	files fs.FS

	mu       sync.Mutex
	requests map[string][]request // guarded by mu: by trace id
	steps    map[string]int       // guarded by mu: of each answer by its id
	left     int                  // guarded by mu: clients that left an endless stream
}

// request is what arrived of one call, and what came of it.
type request struct {
	Method string
	Target string
	Header http.Header
	Body   string
	id     string
	reply  string // what was to be sent, "" of embeddings
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{files: os.DirFS("testdata/replies"), requests: map[string][]request{}, steps: map[string]int{}}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	return u
}

// seen returns the requests of one trace, in their order.
func (u *upstream) seen(traceID string) []request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.requests[traceID]
}

func (u *upstream) leavers() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.left
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var c conversation
	if err := json.Unmarshal(body, &c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	api, model := apiOf(r.URL.Path, c.Model)
	h := fnv.New64a()
	h.Write(body)
	id := fmt.Sprintf("%016x", h.Sum64())
	step := u.step(id, c)
	scenario, ok := strings.CutPrefix(model, "scripted-")
	if !ok {
		scenario = "text" // what README.md asks
	}
	name, data := u.reply(path.Join(api, scenario), step)
	text := strings.NewReplacer("{id}", id, "{previous}", strings.TrimPrefix(c.Previous, "resp_")).Replace(data)
	u.note(request{r.Method, r.RequestURI, r.Header.Clone(), string(body), id, text})
	setProviderFields(w.Header(), api)
	switch {
	case api == "embeddings":
		answerEmbeddings(w, r, body)
	case name == "":
		http.Error(w, fmt.Sprintf("no reply %s/%s/%d", api, model, step), http.StatusNotFound)
	default:
		u.answer(w, r, name, text)
	}
}

// step returns how often the model has spoken before this request.
func (u *upstream) step(id string, c conversation) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	step := c.step()
	if c.Previous != "" {
		step = u.steps[c.Previous] + 1
	}
	u.steps["resp_"+id] = step
	return step
}

// note keeps a request.
func (u *upstream) note(r request) {
	trace := strings.Split(r.Header.Get("Traceparent")+"--", "-")[1]
	u.mu.Lock()
	defer u.mu.Unlock()
	u.requests[trace] = append(u.requests[trace], r)
}

// apiOf returns the API of a path, and the model that it or the body names.
func apiOf(target, model string) (api, name string) {
	switch last := path.Base(target); last {
	case "completions":
		return "chat", model
	case "responses", "embeddings", "messages":
		return last, model
	case "chat":
		return "ollama", model
	default:
		name, _, _ = strings.Cut(last, ":")
		return "gemini", name
	}
}

// conversation is what a request of any API says of the turns before it.
type conversation struct {
	Model    string          `json:"model"`
	Previous string          `json:"previous_response_id"`
	Messages []item          `json:"messages"`
	Contents []item          `json:"contents"`
	Input    json.RawMessage `json:"input"`
}

type item struct {
	Role string `json:"role"`
	Type string `json:"type"`
}

// step counts how often the model has spoken.
func (c conversation) step() int {
	items := append(c.Messages, c.Contents...)
	var input []item
	if json.Unmarshal(c.Input, &input) == nil {
		items = append(items, input...)
	}
	n, speaking := 0, false
	for _, it := range items {
		model := it.Role == "assistant" || it.Role == "model" || it.Role == "" && it.Type != "function_call_output"
		if model && !speaking {
			n++
		}
		speaking = model
	}
	return n
}

// reply finds the file of an answer.
func (u *upstream) reply(dir string, step int) (name, data string) {
	names, err := fs.Glob(u.files, fmt.Sprintf("%s/%d.*", dir, step))
	if err != nil || len(names) != 1 {
		return "", ""
	}
	b, err := fs.ReadFile(u.files, names[0])
	if err != nil {
		return "", ""
	}
	return names[0], string(b)
}

// answer sends a file as its name says: a status, or cut or endless before the
// kind.
func (u *upstream) answer(w http.ResponseWriter, r *http.Request, name, text string) {
	parts := strings.Split(path.Base(name), ".")
	kind, mark := parts[len(parts)-1], parts[len(parts)-2]
	status, err := strconv.Atoi(mark)
	if err != nil || len(parts) == 2 {
		status = http.StatusOK
	}
	h := w.Header()
	if status == http.StatusTooManyRequests || status > http.StatusInternalServerError {
		h.Set("Retry-After", "7")
	}
	switch kind {
	case "json":
		answerJSON(w, r, status, text)
	case "ndjson":
		h.Set("Content-Type", "application/x-ndjson")
		u.stream(w, r, strings.SplitAfter(text, "\n"), mark)
	case "sse":
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		end := "\n\n"
		if strings.Contains(text, "\r\n\r\n") {
			end = "\r\n\r\n"
		}
		u.stream(w, r, strings.SplitAfter(text, end), mark)
	}
}

// setProviderFields sets what a provider says of a call in its header.
func setProviderFields(h http.Header, api string) {
	switch api {
	case "chat", "responses", "embeddings":
		h.Set("X-Request-Id", "req_e2e")
		h.Set("Openai-Processing-Ms", "12")
		h.Set("X-Ratelimit-Remaining-Requests", "59")
	case "messages":
		h.Set("Request-Id", "req_e2e")
		h.Set("Anthropic-Ratelimit-Requests-Remaining", "59")
	}
}

// answerJSON compresses when it may, as providers do.
func answerJSON(w http.ResponseWriter, r *http.Request, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(status)
		io.WriteString(w, text)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	z := gzip.NewWriter(w)
	io.WriteString(z, text)
	z.Close()
}

// stream sends one event after the other. A cut stream ends with its
// connection, an endless one repeats its last event until the client leaves.
func (u *upstream) stream(w http.ResponseWriter, r *http.Request, events []string, mark string) {
	w.WriteHeader(http.StatusOK)
	send := func(event string) bool {
		_, err := io.WriteString(w, event)
		w.(http.Flusher).Flush()
		return err == nil
	}
	for _, e := range events {
		if !send(e) {
			return
		}
	}
	switch mark {
	case "cut":
		panic(http.ErrAbortHandler)
	case "endless":
		for r.Context().Err() == nil && send(events[0]) {
			<-time.After(10 * time.Millisecond)
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.left++
	}
}
