package judgetest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
)

// SystemOne is a whole server of the System One format, where a [Server] knows
// only what package judge asks: all three kinds of questions, the list of
// models, keys and the errors. Its answers to yes/no questions are written as a
// Server writes them. Each answer is a hash of the state and the question, so
// neither the question's id nor its neighbours change it.
type SystemOne struct {
	Key string // wanted of clients; "" wants none
}

const systemOneModel = "fake-judge"

// ServeHTTP answers one request.
func (s SystemOne) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Typesafe-Request-Id", "req_fake")
	switch auth := r.Header.Get("Authorization"); {
	case s.Key != "" && auth == "":
		refuse(w, http.StatusForbidden, "authentication_error", "no key")
	case s.Key != "" && auth != "Bearer "+s.Key:
		refuse(w, http.StatusUnauthorized, "authentication_error", "wrong key")
	case r.Method == http.MethodGet && r.URL.Path == "/v1/models":
		fmt.Fprintf(w, `{"models":[{"name":%q,"description":"a hash","release_date":"2026-11-01"}]}`, systemOneModel)
	case r.Method == http.MethodPost && r.URL.Path == "/v1/systemone":
		s.decide(w, r)
	default:
		refuse(w, http.StatusNotFound, "not_found", "there is nothing at this path")
	}
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"detail":{"error_type":%q,"message":%q}}`, kind, message)
}

func (s SystemOne) decide(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var body any
	v := &validation{}
	if err := json.Unmarshal(data, &body); err != nil {
		v.add("json_invalid", err.Error())
	} else {
		v.request(body)
	}
	if len(v.Detail) > 0 {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(v)
		return
	}
	req := body.(map[string]any)
	if model := req["model"]; model != systemOneModel && model != "jev-latest" {
		refuse(w, http.StatusBadRequest, "api_usage_error", fmt.Sprintf("unknown model %v", model))
		return
	}
	var parts []string
	for id, q := range req["questions"].(map[string]any) {
		parts = append(parts, systemOneAnswer(req["state"], id, q.(map[string]any)))
	}
	io.WriteString(w, systemOneEnvelope(parts))
}

func systemOneAnswer(state any, id string, q map[string]any) string {
	var fields map[string]any
	switch criteria := q["criteria"].(type) {
	case map[string]any:
		if q["type"] == "choice" {
			fields = choiceAnswer(state, q["instructions"], criteria)
		}
	case []any:
		fields = scoreAnswer(state, q["instructions"], criteria)
	}
	if fields == nil {
		p := 1 / (1 + math.Exp(-logit(state, q["instructions"], q["criteria"])))
		return systemOneNoul(Question{Key: id}, Answer{P: p})
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return fmt.Sprintf("%s:null", quoted(id))
	}
	return quoted(id) + ":" + string(b)
}

func choiceAnswer(state, instructions any, options map[string]any) map[string]any {
	var names []string
	for name := range options {
		names = append(names, name)
	}
	slices.Sort(names)
	logits := make([]float64, len(names))
	for i, name := range names {
		logits[i] = logit(state, instructions, name, options[name])
	}
	probs := softmax(logits)
	likeliest := slices.Index(probs, slices.Max(probs))
	byName := map[string]float64{}
	for i, name := range names {
		byName[name] = probs[i]
	}
	confidence := 1.0
	if n := float64(len(names)); n > 1 {
		confidence = (probs[likeliest] - 1/n) / (1 - 1/n)
	}
	return map[string]any{"type": "choice", "choice": names[likeliest], "probabilities": byName, "confidence": confidence}
}

func scoreAnswer(state, instructions any, levels []any) map[string]any {
	logits := make([]float64, len(levels))
	for i, level := range levels {
		logits[i] = logit(state, instructions, i, level)
	}
	probs := softmax(logits)
	likeliest := slices.Index(probs, slices.Max(probs))
	score, spread, widest := 0.0, 0.0, 0.0
	legend, byLevel := map[string]any{}, map[string]float64{}
	for i, p := range probs {
		score += float64(i) * p
		spread += p * math.Abs(float64(i-likeliest))
		widest += math.Abs(float64(i)-float64(len(levels)-1)/2) / float64(len(levels))
		legend[strconv.Itoa(i)], byLevel[strconv.Itoa(i)] = levels[i], p
	}
	confidence := 1.0
	if widest > 0 {
		confidence = max(0, 1-spread/widest)
	}
	return map[string]any{"type": "score", "score": score, "legend": legend, "probabilities": byLevel, "confidence": confidence}
}

// logit is a number between -3 and 3 that depends on all parts.
func logit(parts ...any) float64 {
	b, err := json.Marshal(parts)
	if err != nil {
		return 0
	}
	h := fnv.New64a()
	h.Write(b)
	mixed := h.Sum64() * 0x9e3779b97f4a7c15
	return 6*float64(mixed>>11)/(1<<53) - 3
}

func softmax(logits []float64) []float64 {
	sum := 0.0
	out := make([]float64, len(logits))
	for i, x := range logits {
		out[i] = math.Exp(x)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}
