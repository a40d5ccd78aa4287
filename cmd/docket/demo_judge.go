package main

import (
	"encoding/json"
	"hash/crc32"
	"io"
	"math"
	"net/http"
	"strings"
)

// demoJudge is a scripted decision model: a fixed list of words lowers the
// probability of a criterion, and a checksum of question and reply shakes it a
// little, so that the same words always get the same probability.
type demoJudge struct{}

// telltales are the words of poor replies, by a word of the question.
func telltales() map[string][]string {
	return map[string][]string{
		"asked last":  {"[insert", "not sure", "look at the size chart", "in your account.", "wonderful invention", "depends", "even pump"},
		"states only": {"probably", "i think", "maybe", "usually", "nothing can happen", "doubled"},
		"is polite":   {"obviously", "did you even", "should have thought", "why not"},
	}
}

func (demoJudge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		State struct {
			Response string `json:"response"`
		} `json:"state"`
		Questions map[string]struct {
			Instructions string `json:"instructions"`
		} `json:"questions"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, 4<<20)).Decode(&req); err != nil {
		http.Error(w, "not a decision request", http.StatusBadRequest)
		return
	}
	answers := map[string]any{}
	for key, q := range req.Questions {
		answers[key] = map[string]any{"type": "noul", "noul": probability(q.Instructions, req.State.Response)}
	}
	demoAnswer(w, http.StatusOK, map[string]any{
		"model": "demo-judge-1", "answers": answers,
		"usage": map[string]any{"input_tokens": len(req.State.Response)/4 + 80*len(answers), "output_tokens": len(answers)},
	})
}

// probability is rounded to three digits, as the page shows them.
func probability(question, reply string) float64 {
	p := 0.93
	reply = strings.ToLower(reply)
	for about, words := range telltales() {
		if !strings.Contains(question, about) {
			continue
		}
		for _, word := range words {
			if strings.Contains(reply, word) {
				p = 0.17
			}
		}
	}
	shake := float64(crc32.ChecksumIEEE([]byte(question+reply))%1000) / 1000 * 0.12
	return math.Round((p+shake-0.06)*1000) / 1000
}
