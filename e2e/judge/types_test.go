package judge

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"docket/internal/judge/judgetest"

	"docket/e2e/program"
)

// TestRequestsHaveTheLibrariesTypes holds every request of both decision
// formats, and the fakes' answers to them, to the type declarations of the
// official libraries: nothing missing, nothing of another type, no field that
// they do not know.
func TestRequestsHaveTheLibrariesTypes(t *testing.T) {
	t.Parallel()
	var src strings.Builder
	src.WriteString(`import type { SystemOneRequestPayload, SystemOneResult, Questions } from "@typesafe-ai/sdk";
import type { Decision, DecisionCreateParams } from "openai/resources/decisions";
`)
	n := 0
	declare := func(what string, body []byte) {
		n++
		fmt.Fprintf(&src, "export const v%d: %s = %s;\n", n, what, body)
	}
	for format, types := range map[string][2]string{
		"systemone":   {"SystemOneRequestPayload", "SystemOneResult<Questions>"},
		"openai":      {"DecisionCreateParams", "Decision"},
		"openai-text": {"DecisionCreateParams", "Decision"},
	} {
		for _, s := range requests(t, format) {
			declare(types[0], s.body)
			declare(types[1], fakeAnswer(t, format, s))
		}
	}
	for _, wrong := range []string{
		`DecisionCreateParams = {"model":"m","input":"x","questions":[],"thresholds":1}`,
		`DecisionCreateParams = {"model":"m","input":"x","questions":[{"type":"predicate","name":"a"}]}`,
		`SystemOneRequestPayload = {"model":"m","state":"x","questions":{"a":{"type":"noul","threshold":1}}}`,
		`Decision = {"model":"m","answers":[]}`,
	} {
		n++
		fmt.Fprintf(&src, "// @ts-expect-error\nexport const v%d: %s;\n", n, wrong)
	}
	dir := t.TempDir()
	if err := os.Symlink(program.Existing(t, "node_modules", "(cd e2e/judge && npm ci)"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "requests.mts")
	if err := os.WriteFile(file, []byte(src.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	program.Run(t, nil, "", "node", filepath.Join(dir, "node_modules", "typescript", "bin", "tsc"),
		"--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022", file)
}

// fakeAnswer is what the fake of a format says to a request: yes or no, and one
// refusal where there are more questions and the format has refusals.
func fakeAnswer(t *testing.T, format string, s sent) []byte {
	t.Helper()
	formats := judgetest.Formats()
	srv := judgetest.NewServer(t, formats[slices.IndexFunc(formats, func(f judgetest.Format) bool { return f.Name == format })])
	asked := 0
	srv.Answer(func(judgetest.Question) judgetest.Answer {
		asked++
		return judgetest.Answer{P: 0.25, Refuse: asked == 2 && format != "systemone"}
	})
	res, err := judgetest.Client(t).Post(srv.URL()+s.path, "application/json", strings.NewReader(string(s.body)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d %v %s", res.StatusCode, err, body)
	}
	return body
}
