package readme

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"docket/internal/config"

	"go.yaml.in/yaml/v3"
)

const deployDir = "../../deploy"

// TestCompose: the compose file is YAML, starts commands that the image has, and
// sets only variables that mean something. It cannot be run here.
func TestCompose(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(deployDir, "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct {
			Command     []string          `yaml:"command"`
			Environment map[string]string `yaml:"environment"`
			Build       map[string]string `yaml:"build"`
			Volumes     []string          `yaml:"volumes"`
		} `yaml:"services"`
		Volumes map[string]any `yaml:"volumes"`
	}
	if err := yaml.Unmarshal(data, &compose); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"DOCKET_STORE": true, "DOCKET_UPSTREAM": true, "DOCKET_UPSTREAM_KEY": true, "DOCKET_API_TOKEN": true}
	for _, s := range sections() {
		for _, f := range config.Fields(s.name, s.cfg) {
			known[f.Env] = true
		}
	}
	dockerfile := read(t, filepath.Join(deployDir, "Dockerfile"))
	for name, service := range compose.Services {
		for variable := range service.Environment {
			if strings.HasPrefix(variable, "DOCKET_") && !known[variable] {
				t.Errorf("%s sets %s, which means nothing", name, variable)
			}
		}
		if len(service.Command) > 0 && !strings.Contains(dockerfile, "./cmd/"+service.Command[0]) {
			t.Errorf("%s runs %s, which the image does not have", name, service.Command[0])
		}
		for _, v := range service.Volumes {
			volume, _, _ := strings.Cut(v, ":")
			if _, ok := compose.Volumes[volume]; !ok {
				t.Errorf("%s uses volume %s, which is not declared", name, volume)
			}
		}
	}
	if len(compose.Services) != 3 {
		t.Errorf("%d services", len(compose.Services))
	}
}

// TestDockerfile: what the image copies and builds is there, and the builder is
// the Go version of go.mod.
func TestDockerfile(t *testing.T) {
	_, version, _ := strings.Cut(read(t, "../../go.mod"), "\ngo ")
	version = version[:strings.LastIndex(strings.Fields(version)[0], ".")]
	for line := range strings.Lines(read(t, filepath.Join(deployDir, "Dockerfile"))) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch {
		case fields[0] == "COPY" && !strings.HasPrefix(fields[1], "--"):
			for _, from := range fields[1 : len(fields)-1] {
				if _, err := os.Stat(filepath.Join("../..", from)); err != nil {
					t.Errorf("the image copies %s: %v", from, err)
				}
			}
		case fields[0] == "FROM" && strings.HasPrefix(fields[1], "golang:"):
			if !strings.HasPrefix(fields[1], "golang:"+version) {
				t.Errorf("the builder is %s, go.mod wants %s", fields[1], version)
			}
		}
		for _, word := range fields {
			if command, ok := strings.CutPrefix(word, "./cmd/"); ok {
				if _, err := os.Stat(filepath.Join("../../cmd", command)); err != nil {
					t.Errorf("the image builds %s: %v", word, err)
				}
			}
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
