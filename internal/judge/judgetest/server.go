package judgetest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"docket/internal/judge"
)

// Question is one question that reached a fake judge.
type Question struct {
	Key  string
	Text string // all that the judge is told to decide by
}

// Answer is what a fake judge says to a question.
type Answer struct {
	P       float64
	Raw     string // JSON in place of the number P, when not ""
	Refuse  bool
	Missing bool
	Reason  string // sentence, in formats that have one
}

// Seen is one request that reached a fake judge.
type Seen struct {
	Path         string
	Header       http.Header
	Body         []byte
	Questions    []Question
	Instructions string // everything that tells the judge what to do
	Data         any    // everything that was recorded, decoded
}

// Response is a scripted answer, instead of one made from values.
type Response struct {
	Status int
	Header map[string]string
	Body   string
	Hang   bool // does not answer until the client leaves
	Cut    bool // closes the connection in the middle of the answer
}

// Server is a fake judge of one format.
type Server struct {
	t      testing.TB
	format Format
	http   *httptest.Server
	done   chan struct{}

	mu     sync.Mutex // guards what follows
	answer func(Question) Answer
	script []Response
	seen   []Seen
}

// NewServer starts a fake judge that answers with p = 0.9 until told otherwise.
// It ends with the test.
func NewServer(t testing.TB, f Format) *Server {
	t.Helper()
	s := &Server{t: t, format: f, done: make(chan struct{}), answer: func(Question) Answer { return Answer{P: 0.9} }}
	s.http = httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.done)
		s.http.Close()
	})
	return s
}

// Answer sets what the judge says.
func (s *Server) Answer(f func(Question) Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// Next scripts the next responses; afterwards answers are made from values
// again.
func (s *Server) Next(responses ...Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, responses...)
}

// Seen lists the requests so far.
func (s *Server) Seen() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Seen(nil), s.seen...)
}

// Backend is the setting of a backend that asks this server.
func (s *Server) Backend() judge.BackendConfig {
	b := s.format.Config
	b.SetDefaults()
	b.Format, b.Method, b.Input = s.format.Config.Format, s.format.Config.Method, s.format.Config.Input
	b.URL, b.Model = s.http.URL, "fake-judge"
	return b
}

// URL is the base URL.
func (s *Server) URL() string { return s.http.URL }

// Client is an HTTP client whose connections end with the test.
func Client(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	seen, err := s.format.parse(body)
	if err != nil {
		s.t.Errorf("%s: request the server would refuse: %v\n%s", s.format.Name, err, body)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	seen.Path, seen.Header, seen.Body = r.URL.Path, r.Header.Clone(), body
	response, made := s.next(seen)
	if made {
		response = Response{Status: http.StatusOK, Body: s.format.write(seen.Questions, s.answers(seen.Questions))}
	}
	s.respond(w, r, response)
}

// next notes a request and says what is scripted for it.
func (s *Server) next(seen Seen) (Response, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, seen)
	if len(s.script) == 0 {
		return Response{}, true
	}
	response := s.script[0]
	s.script = s.script[1:]
	return response, false
}

func (s *Server) answers(questions []Question) []Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Answer, len(questions))
	for i, q := range questions {
		out[i] = s.answer(q)
	}
	return out
}

func (s *Server) respond(w http.ResponseWriter, r *http.Request, response Response) {
	if response.Hang {
		select {
		case <-r.Context().Done():
		case <-s.done:
		case <-time.After(time.Minute):
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for k, v := range response.Header {
		w.Header().Set(k, v)
	}
	if response.Cut {
		w.Header().Set("Content-Length", "100000")
		w.WriteHeader(response.Status)
		io.WriteString(w, response.Body)
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(response.Status)
	io.WriteString(w, response.Body)
}

// number is an answer's probability as JSON.
func (a Answer) number() string {
	if a.Raw != "" {
		return a.Raw
	}
	b, err := json.Marshal(a.P)
	if err != nil {
		return "null"
	}
	return string(b)
}
