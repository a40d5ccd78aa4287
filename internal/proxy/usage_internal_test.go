package proxy

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

func TestWithUsage(t *testing.T) {
	for in, want := range map[string]string{
		`{"stream":true}`: `{"stream":true,"stream_options":{"include_usage":true}}`,
		`{ "model" : "m", "stream" : true , "n":1 }`:                               `{ "model" : "m", "stream" : true,"stream_options":{"include_usage":true} , "n":1 }`,
		`{"stream_options":null,"stream":true}`:                                    `{"stream_options":{"include_usage":true},"stream":true}`,
		`{"stream":true,"stream_options":{}}`:                                      `{"stream":true,"stream_options":{"include_usage":true}}`,
		`{"stream":true,"stream_options":{ "x" : 1 }}`:                             `{"stream":true,"stream_options":{"include_usage":true, "x" : 1 }}`,
		`{"stream":true,"stream_options":{"include_usage":false}}`:                 `{"stream":true,"stream_options":{"include_usage":true}}`,
		`{"stream":true,"stream_options":{"include_usage":null,"include_x":true}}`: `{"stream":true,"stream_options":{"include_usage":true,"include_x":true}}`,
		`{"messages":[{"stream":false}],"stream":true}`:                            `{"messages":[{"stream":false}],"stream":true,"stream_options":{"include_usage":true}}`,
		`{"stream":true,"stream_options":{"include_usage":true}}`:                  "",
		`{"stream":false}`:                    "",
		`{"stream":"true"}`:                   "",
		`{"model":"m"}`:                       "",
		`{"stream":true,"stream":true}`:       "",
		`{"stream":true,"stream_options":[]}`: "",
		`{"stream":true`:                      "",
		`[{"stream":true}]`:                   "",
		``:                                    "",
		`{"stream":true} {"stream":true}`:     "",
		`{"stream":true,"stream_options":{"include_usage":false,"include_usage":false}}`: "",
	} {
		if got := string(withUsage([]byte(in))); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

// usageStream is a stream, and the same with what answers the option in it.
func usageStream(rng *rand.Rand) (with, without string) {
	end := []string{"\n", "\r\n", "\r"}[rng.IntN(3)]
	var a, b strings.Builder
	both := func(s string) { a.WriteString(s); b.WriteString(s) }
	usage := []string{
		`data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":1,"total_tokens":3}}` + end + end,
		`data:{"choices":[],` + end + `data: "usage":{"total_tokens":3}}` + end + end,
		`id: 7` + end + `event: message` + end + `data: { "usage" : {} , "choices" : [ ] }` + end + end,
	}
	others := []string{
		`data: {"choices":[{"delta":{"content":"a"}}],"usage":null}` + end + end,
		`data: {"choices":[{"delta":{"content":"say \"choices\":[],\"usage\":{"}}],"usage":{"total_tokens":1}}` + end + end,
		`data: {"choices":[],"prompt_filter_results":[{}]}` + end + end,
		`data: {"choices":[],"usage":null}` + end + end,
		`: keep-alive` + end + end,
		end,
		`event: ping` + end + `data: {"type":"ping"}` + end + end,
		`data: words, "choices":[]` + end + end,
		`data: {"error":{"message":"x"}}` + end + end,
		`data: {"choices":` + end + `: within` + end + `data: [{"delta":{}}]}` + end + end,
		`retry: 5` + end + end,
	}
	for range rng.IntN(8) {
		both(others[rng.IntN(len(others))])
	}
	if rng.IntN(4) > 0 {
		a.WriteString(usage[rng.IntN(len(usage))])
	}
	for range rng.IntN(2) {
		both(others[rng.IntN(len(others))])
	}
	both("data: [DONE]" + end)
	if rng.IntN(2) == 0 {
		both(end)
	}
	return a.String(), b.String()
}

// pieces reads a text in given pieces.
type pieces struct {
	text string
	rng  *rand.Rand
	end  error
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, p.end
	}
	n := copy(b, p.text[:1+p.rng.IntN(min(len(p.text), 40))])
	p.text = p.text[n:]
	return n, nil
}

// TestUsageFilter: wherever a stream is divided, the client gets the bytes of the
// same stream without the option.
func TestUsageFilter(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 5000 {
		with, without := usageStream(rng)
		end := io.EOF
		if round%3 == 0 {
			end = io.ErrUnexpectedEOF
		}
		f := &usageFilter{src: io.NopCloser(&pieces{with, rng, end})}
		var r io.Reader = f
		if round%2 == 0 {
			r = iotest.OneByteReader(f)
		}
		got, err := io.ReadAll(r)
		if string(got) != without || end != io.EOF && !errors.Is(err, end) || end == io.EOF && err != nil {
			t.Fatalf("round %d, %v:\n got %q\nwant %q\nfrom %q", round, err, got, without, with)
		}
	}
}

// TestUsageFilterOfCuts: of a stream that breaks off, all passes that is not of
// the usage event.
func TestUsageFilterOfCuts(t *testing.T) {
	const before = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
	for cut, want := range map[string]string{
		"":                           before,
		"data: {\"choices\":[{\"del": before + "data: {\"choices\":[{\"del",
		"data: {\"choices\":[],\"usage\":{\"total": before,
		"data: {\"choices\":[],\"usage\":{}}":      before,
		"data: {\"choices\":[],\"usage\":{}}\n":    before,
		"data: [DO":                                before + "data: [DO",
		"event: x\n":                               before + "event: x\n",
	} {
		f := &usageFilter{src: io.NopCloser(iotest.DataErrReader(strings.NewReader(before + cut)))}
		if got, err := io.ReadAll(f); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", cut, got, err)
		}
	}
}

// TestUsageFilterHoldsNothing: what is no usage event passes with the bytes that
// show it, not later.
func TestUsageFilterHoldsNothing(t *testing.T) {
	for _, s := range []string{"data: [DONE]", ": comment", "data: {\"choices\":[{}]}\n", "data: x", "\n", "data: {" + strings.Repeat("x", maxUsageHeld)} {
		f := &usageFilter{}
		f.write([]byte(s))
		if string(f.out) != s {
			t.Errorf("%.40q: only %.40q passed", s, f.out)
		}
	}
}

func FuzzUsageFilter(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[],\"usage\":{}}\r\n\r\ndata: [DONE]\n\n"), 3)
	f.Add([]byte(": a\r\rid: 1\ndata: {\n\ndata:x"), 1)
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		read := func(n int) string {
			filter := &usageFilter{src: io.NopCloser(&chopped{in, n})}
			out, err := io.ReadAll(filter)
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		whole, cut := read(len(in)+1), read(max(size, 1))
		if whole != cut {
			t.Errorf("%q at once, %q in pieces of %d", whole, cut, size)
		}
		if !strings.Contains(string(in), "choices") && whole != string(in) {
			t.Errorf("%q became %q", in, whole)
		}
	})
}

// chopped reads pieces of one size.
type chopped struct {
	rest []byte
	size int
}

func (c *chopped) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest[:min(c.size, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}
