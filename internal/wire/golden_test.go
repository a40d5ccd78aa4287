package wire_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"docket/internal/wire"
)

var update = flag.Bool("update", false, "write the wanted outputs anew")

// golden is one file of testdata/decode: what the case is about, the call, the
// answer, and the wanted Decoded. A section starts with a line "-- HEAD --":
//
//	-- POST /v1/chat/completions --           request; "cut" may follow the path
//	-- 200 text/event-stream --               answer; "cut" may follow the type
//	-- want --
type golden struct {
	about, want string
	exchange    wire.Exchange
}

func readGolden(t testing.TB, file string) golden {
	t.Helper()
	g := golden{exchange: wire.Exchange{BodyEnded: true}}
	sections := strings.Split("\n"+string(read(t, file)), "\n-- ")
	g.about = strings.TrimSpace(sections[0])
	for _, s := range sections[1:] {
		head, body, ok := strings.Cut(s, " --\n")
		if !ok {
			t.Fatalf("%s: section %q does not end its head", file, head)
		}
		words := strings.Fields(head)
		cut := words[len(words)-1] == "cut"
		switch status, err := strconv.Atoi(words[0]); {
		case words[0] == "want":
			g.want = strings.TrimSpace(body)
		case err == nil:
			g.exchange.Status, g.exchange.Response, g.exchange.ResponseCut = status, []byte(body), cut
			g.exchange.ResponseHeader = map[string]string{"content-type": words[1]}
		default:
			g.exchange.Method, g.exchange.Path = words[0], words[1]
			g.exchange.Request, g.exchange.RequestCut = []byte(body), cut
		}
	}
	return g
}

func goldenFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/decode/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in testdata/decode (%v)", err)
	}
	return files
}

func TestDecode(t *testing.T) {
	for _, file := range goldenFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			g := readGolden(t, file)
			d := wire.DecodeUnfenced(g.exchange)
			checkSound(t, d)
			got := printed(t, d)
			if *update {
				writeGolden(t, file, got)
				return
			}
			if diff := cmp.Diff(g.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", g.about, diff)
			}
		})
	}
}

// printed is the Decoded as indented JSON without empty fields and without the
// response body.
func printed(t testing.TB, d wire.Decoded) string {
	t.Helper()
	fields := map[string]any{}
	v := reflect.ValueOf(d)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "Response" && !v.Field(i).IsZero() {
			fields[name] = v.Field(i).Interface()
		}
	}
	if d.Usage != (wire.Decoded{}.Usage) {
		fields["Usage"] = usageLine(d)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(fields); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// usageLine writes the buckets on one line; a bucket that is nil is left out.
func usageLine(d wire.Decoded) string {
	var words []string
	for _, b := range []struct {
		name string
		n    *uint64
	}{
		{"input", d.Usage.Input},
		{"cache_read", d.Usage.CacheRead},
		{"cache_write", d.Usage.CacheWrite},
		{"output", d.Usage.Output},
		{"reasoning", d.Usage.Reasoning},
		{"total", d.Usage.Total},
	} {
		if b.n != nil {
			words = append(words, b.name+"="+strconv.FormatUint(*b.n, 10))
		}
	}
	return strings.Join(append(words, d.Usage.Raw), " ")
}

func writeGolden(t *testing.T, file, want string) {
	t.Helper()
	input, _, ok := strings.Cut(string(read(t, file)), "\n-- want --\n")
	if !ok {
		t.Fatalf("%s has no wanted section", file)
	}
	if err := os.WriteFile(file, []byte(input+"\n-- want --\n"+want+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
