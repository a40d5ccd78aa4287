package sdk

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
)

const dimensions = 256

// vector is the embedding of the text at a place in the input.
func vector(place int) []float32 {
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = float32(math.Sin(float64(place*dimensions + i + 1)))
	}
	return v
}

// packed is a vector as encoding_format base64 has it, which the SDKs for Python
// and Node ask for on their own.
func packed(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func answerEmbeddings(w http.ResponseWriter, r *http.Request, body []byte) {
	var req struct {
		Input  []string `json:"input"`
		Format string   `json:"encoding_format"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	data := []any{}
	for i := range req.Input {
		var embedding any = vector(i)
		if req.Format == "base64" {
			embedding = packed(vector(i))
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": embedding})
	}
	text, err := json.Marshal(map[string]any{
		"object": "list", "data": data, "model": "scripted-2026-11-01",
		"usage": map[string]any{"prompt_tokens": 12, "total_tokens": 12},
	})
	if err != nil {
		panic(err)
	}
	answerJSON(w, r, http.StatusOK, string(text))
}
