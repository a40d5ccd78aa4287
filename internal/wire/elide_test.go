package wire_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"docket/internal/wire"
)

func elide(limit int, in string, cuts []int) string {
	e := wire.NewElider(limit)
	var out []byte
	from := 0
	for _, to := range append(cuts, len(in)) {
		if to >= from && to <= len(in) {
			out = e.Append(out, []byte(in[from:to]))
			from = to
		}
	}
	return string(e.Close(out))
}

func TestElider(t *testing.T) {
	long := strings.Repeat("ABCD", 250)
	head := long[:256]
	tests := map[string]struct{ in, want string }{
		"empty":         {"", ""},
		"short values":  {`{"a":"b","c":["QUJD"]}`, `{"a":"b","c":["QUJD"]}`},
		"base64":        {`{"a":"` + long + `","b":1}`, `{"a":"` + head + `{docket-elided:1000}","b":1}`},
		"padded":        {`["` + long + `=="]`, `["` + head + `{docket-elided:1002}=="]`},
		"data url":      {`["data:image/png;base64,` + long + `"]`, `["data:image/png;base64,` + long[:234] + `{docket-elided:1022}"]`},
		"slash escaped": {`["` + strings.Repeat(`AB\/D`, 250) + `"]`, `["` + strings.Repeat(`AB\/D`, 64) + `{docket-elided:1000}"]`},
		"at the limit":  {`["` + long[:500] + `"]`, `["` + long[:500] + `"]`},
		"over it":       {`["` + long[:501] + `"]`, `["` + head + `{docket-elided:501}"]`},
		"text":          {`["` + strings.Repeat("some words ", 100) + `"]`, `["` + strings.Repeat("some words ", 100) + `"]`},
		"not ascii":     {`["` + strings.Repeat("你好", 300) + `"]`, `["` + strings.Repeat("你好", 300) + `"]`},
		"quotes inside": {`["` + strings.Repeat(`a\"b\\`, 200) + `"]`, `["` + strings.Repeat(`a\"b\\`, 200) + `"]`},
		"cut inside":    {`["` + long, `["` + head + `{docket-elided:1000}`},
		"cut, short":    {`["` + long[:400], `["` + long[:400]},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := elide(500, tt.in, nil); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if got := elide(500, tt.in, everyByte(len(tt.in))); got != tt.want {
				t.Errorf("byte by byte: %s", got)
			}
		})
	}
}

// FuzzElider: the result does not depend on where the bytes are cut, JSON stays
// JSON, and what has no long value stays as it is.
func FuzzElider(f *testing.F) {
	f.Add(`{"a":"`+strings.Repeat("QUJD", 200)+`=="}`, uint16(7))
	f.Add(`{"a":"`+strings.Repeat(`\/`, 600)+`\\\"","b":"x y"}`, uint16(3))
	f.Fuzz(func(t *testing.T, in string, step uint16) {
		whole := elide(300, in, nil)
		var cuts []int
		for at := int(step) + 1; at < len(in); at += int(step) + 1 {
			cuts = append(cuts, at)
		}
		if got := elide(300, in, cuts); got != whole {
			t.Errorf("in steps: %q\nwhole:    %q", got, whole)
		}
		if json.Valid([]byte(in)) && !json.Valid([]byte(whole)) {
			t.Errorf("%q became %q", in, whole)
		}
		if len(in) <= 300 && whole != in {
			t.Errorf("short text %q became %q", in, whole)
		}
	})
}

// TestElidedIsRead: a shortened value is read back with its true size.
func TestElidedIsRead(t *testing.T) {
	for size := range 5 {
		data := strings.Repeat("A", 4*1000) + map[int]string{0: "", 1: "AA==", 2: "AAA=", 3: "AAAA", 4: "AAAAAA=="}[size]
		body := `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}]}]}`
		decode := func(request string, cut bool) int64 {
			d := wire.Decode(wire.Exchange{Method: "POST", Path: "/v1/chat/completions", Request: []byte(request), RequestCut: cut})
			if len(d.Input) != 1 || len(d.Input[0].Parts) != 1 {
				t.Fatalf("input %+v", d.Input)
			}
			return d.Input[0].Parts[0].Bytes
		}
		if whole, short := decode(body, false), decode(elide(500, body, nil), true); whole != short || whole < 3000 {
			t.Error("size " + strconv.Itoa(size) + ": " + strconv.FormatInt(whole, 10) + " against " + strconv.FormatInt(short, 10))
		}
	}
}
