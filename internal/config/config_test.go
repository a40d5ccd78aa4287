package config_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"docket/internal/config"
	"docket/internal/record"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the wanted outputs")

type server struct {
	Listen  string          `yaml:"listen" doc:"Where it listens."`
	Timeout time.Duration   `yaml:"timeout" doc:"How long it waits."`
	Max     record.ByteSize `yaml:"max"`
	Token   record.Secret   `yaml:"token"`
	Debug   bool            `yaml:"debug"`
	Rate    float64         `yaml:"rate"`
	Workers uint8           `yaml:"workers"`
	Level   *int            `yaml:"level"`
	Hosts   []string        `yaml:"hosts"`
	Limits  limits          `yaml:"limits"`
	Free    any             `yaml:"free"`
	Hidden  string          `yaml:"-"`
}

type limits struct {
	Depth int           `yaml:"depth"`
	Keep  time.Duration `yaml:"keep"`
}

type route struct {
	URL    string            `yaml:"url" doc:"Where it sends."`
	Weight float64           `yaml:"weight"`
	Labels map[string]string `yaml:"labels"`
}

func (r *route) SetDefaults() { r.Weight = 1 }

type sections struct {
	Server server
	Routes map[string]route
	Rules  []route
}

func defaults() *sections {
	return &sections{
		Server: server{
			Listen: "127.0.0.1:8080", Timeout: 20 * time.Millisecond, Max: 16 * record.MiB, Rate: 0.5,
			Hosts: []string{"localhost"}, Limits: limits{Depth: 3, Keep: 30 * 24 * time.Hour},
		},
		Routes: map[string]route{"main": {URL: "http://main", Weight: 2}},
	}
}

// load reads a case: settings, then "--- env" with variables.
func load(t *testing.T, file string, environ []string) (*sections, error) {
	t.Helper()
	getenv := func(name string) string {
		for _, e := range environ {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				return v
			}
		}
		return ""
	}
	s := defaults()
	err := config.Load(file, getenv, environ, map[string]any{"server": &s.Server, "routes": &s.Routes, "rules": &s.Rules},
		[]string{"server", "elsewhere"})
	return s, err
}

func TestLoadCases(t *testing.T) {
	files, err := filepath.Glob("testdata/load/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, _ := strings.Cut(string(data), "--- want\n")
			yaml, env, _ := strings.Cut(input, "--- env\n")
			got := outcome(t, yaml, strings.Fields(env))
			if *update {
				if err := os.WriteFile(file, []byte(input+"--- want\n"+got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func outcome(t *testing.T, yaml string, environ []string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "docket.yaml")
	write(t, file, yaml)
	write(t, filepath.Join(dir, "token.txt"), "from-a-file\n")
	s, err := load(t, file, environ)
	if err != nil {
		return "error\n" + strings.ReplaceAll(err.Error(), dir+"/", "") + "\n"
	}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + "\n" + "token " + s.Server.Token.Reveal() + "\n"
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNoFile(t *testing.T) {
	s, err := load(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(defaults(), s, cmp.AllowUnexported(record.Secret{})); diff != "" {
		t.Errorf("defaults changed (-want +got)\n%s", diff)
	}
	if _, err := load(t, "absent.yaml", nil); err == nil || !strings.Contains(err.Error(), "absent.yaml") {
		t.Errorf("a named file that is absent: got error %v", err)
	}
}

func TestSecretNotInErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "docket.yaml")
	write(t, file, "server:\n  token: [hunter2-secret]\n  limits: {depth: x}\n")
	_, err := load(t, file, []string{"DOCKET_SERVER_TOKEN=hunter2-secret"})
	if err == nil {
		t.Fatal("want an error")
	}
	if strings.Contains(err.Error(), "hunter2-secret") {
		t.Errorf("the secret is printed: %v", err)
	}
}

func TestFile(t *testing.T) {
	t.Chdir(t.TempDir())
	none := func(string) string { return "" }
	set := func(string) string { return "set.yaml" }
	if got := config.File("", none); got != "" {
		t.Errorf("nothing there: got %q", got)
	}
	write(t, config.DefaultFile, "")
	got := []string{config.File("", none), config.File("", set), config.File("named.yaml", set)}
	if diff := cmp.Diff([]string{"docket.yaml", "set.yaml", "named.yaml"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFields(t *testing.T) {
	s := defaults()
	got := config.Fields("server", &s.Server)
	want := []config.Field{
		{Key: "server.listen", Env: "DOCKET_SERVER_LISTEN", Type: "string", Default: "127.0.0.1:8080", Doc: "Where it listens."},
		{Key: "server.timeout", Env: "DOCKET_SERVER_TIMEOUT", Type: "duration", Default: "20ms", Doc: "How long it waits."},
		{Key: "server.max", Env: "DOCKET_SERVER_MAX", Type: "size", Default: "16MiB"},
		{Key: "server.token", Env: "DOCKET_SERVER_TOKEN", Type: "secret"},
		{Key: "server.debug", Env: "DOCKET_SERVER_DEBUG", Type: "bool", Default: "false"},
		{Key: "server.rate", Env: "DOCKET_SERVER_RATE", Type: "decimal", Default: "0.5"},
		{Key: "server.workers", Env: "DOCKET_SERVER_WORKERS", Type: "number", Default: "0"},
		{Key: "server.level", Env: "DOCKET_SERVER_LEVEL", Type: "number"},
		{Key: "server.hosts", Env: "DOCKET_SERVER_HOSTS", Type: "list of string", Default: "localhost"},
		{Key: "server.limits.depth", Env: "DOCKET_SERVER_LIMITS_DEPTH", Type: "number", Default: "3"},
		{Key: "server.limits.keep", Env: "DOCKET_SERVER_LIMITS_KEEP", Type: "duration", Default: "30d"},
		{Key: "server.free", Type: "any"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	gotRoutes := config.Fields("routes", s.Routes)
	wantRoutes := []config.Field{
		{Key: "routes.<name>.url", Type: "string", Doc: "Where it sends."},
		{Key: "routes.<name>.weight", Type: "decimal", Default: "1"},
		{Key: "routes.<name>.labels", Type: "map to string"},
	}
	if diff := cmp.Diff(wantRoutes, gotRoutes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

type checked struct{ err error }

func (c checked) Validate() error { return c.err }

func TestValidate(t *testing.T) {
	err := config.Validate(map[string]any{
		"b": &checked{errors.New("rate: 2: want 0 to 1")},
		"a": &checked{errors.Join(errors.New("a.url: none"), errors.New("user: none"))},
		"c": &checked{},
		"d": new(int),
	})
	if want := "a.url: none\na.user: none\nb.rate: 2: want 0 to 1"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := config.Validate(map[string]any{"c": &checked{}}); err != nil {
		t.Error(err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("server: {listen: x, limits: {depth: 3}}\nroutes: {a: null}\nrules: [{url: a}]\n")
	f.Add("a: &a [*a]\nserver: *a\n")
	f.Add("server: &s {limits: *s}\n")
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "docket.yaml")
		write(t, file, text)
		s, err := load(t, file, nil)
		if err == nil && s == nil {
			t.Error("nothing loaded")
		}
	})
}
