package proxy

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestEachWriteIsFlushed: what was written is on its way when Write returns. No
// timer has a part in it.
func TestEachWriteIsFlushed(t *testing.T) {
	for name, length := range map[string]string{"stream": "", "known length": "6"} {
		under := httptest.NewRecorder()
		w := &responseWriter{
			ResponseWriter: under, control: http.NewResponseController(under), onHead: func(http.Header) {},
			request: httptest.NewRequest(http.MethodPost, "/v1/x", nil),
		}
		if length != "" {
			w.Header().Set("Content-Length", length)
		}
		w.WriteHeader(http.StatusOK)
		if under.Flushed != (length == "") {
			t.Errorf("%s: head flushed alone: %v", name, under.Flushed)
		}
		for range 2 {
			under.Flushed = false
			if n, err := w.Write([]byte("abc")); n != 3 || err != nil || !under.Flushed {
				t.Errorf("%s: wrote %d, %v, flushed %v", name, n, err, under.Flushed)
			}
		}
	}
}
