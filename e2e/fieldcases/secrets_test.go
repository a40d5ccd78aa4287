package fieldcases

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkSecrets looks for secrets in everything that the proxy leaves behind,
// and for what should stay visible in the record.
func (s *suite) checkSecrets(t *testing.T, c fieldCase, p *program, d tree) {
	t.Helper()
	shown, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range c.texts("kept") {
		if !strings.Contains(string(shown), word) {
			t.Errorf("%q is not in the record", word)
		}
	}
	secrets := c.texts("secrets")
	if len(secrets) == 0 {
		return
	}
	places := map[string]string{"read API": string(shown), "log": p.log.String(), "metrics": p.metrics(t), "spool": filesOf(t, p.spool)}
	for table := range strings.Lines(s.sql(t, "SELECT name FROM system.tables WHERE database = currentDatabase() AND total_rows > 0")) {
		table = strings.TrimSpace(table)
		places["table "+table] = s.sql(t, "SELECT * FROM `"+table+"` FORMAT JSONEachRow")
	}
	if places["table inference_bodies"] == "" || places["spool"] == "" {
		t.Error("the search was in the wrong place")
	}
	for place, text := range places {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in the %s", secret, place)
			}
		}
	}
}

func filesOf(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // segments go when they are delivered
		}
		data, err := os.ReadFile(name)
		if err == nil {
			all.Write(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
