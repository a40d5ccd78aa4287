package judge_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"docket/internal/judge"
	"docket/internal/judge/judgetest"
	"docket/internal/record"
)

func TestProfiles(t *testing.T) {
	for name, c := range map[string]struct {
		url, path, body string
	}{
		"typesafe":   {"", "/v1/systemone", ""},
		"vllm":       {"", "/v1/systemone", ""},
		"ollama":     {"/v1", "/v1/systemone", ""},
		"llamacpp":   {"/v1/", "/v1/systemone", ""},
		"openrouter": {"", "/api/alpha/decisions", ""},
		"perplexity": {"", "/v1/decisions", ""},
		"litellm":    {"/gateway", "/gateway/v1/systemone", ""},
		"fireworks":  {"/inference", "/inference/v1/systemone", ""},
		"cloudflare": {
			"/client/v4/accounts/a1/ai/run/@cf/cloudflare/clef", "/client/v4/accounts/a1/ai/run/@cf/cloudflare/clef",
			`{"result":{"model":"clef","answers":{"q1":{"type":"noul","noul":0.9}}},"success":true,"errors":[],"messages":[]}`,
		},
	} {
		s := judgetest.NewServer(t, formatNamed(t, "systemone"))
		if c.body != "" {
			s.Next(judgetest.Response{Status: 200, Body: c.body})
		}
		b := s.Backend()
		b.Format, b.Profile, b.URL = "", name, s.URL()+c.url
		got := judgetest.New(t, b, first(), nil).Judge(t.Context(), "r", judgetest.Unit())
		if got.Outcome != record.OutcomePass || s.Seen()[0].Path != c.path {
			t.Errorf("%s: %s %s at %s", name, got.Outcome, got.Detail, s.Seen()[0].Path)
		}
	}
}

func TestSameModelIsFlagged(t *testing.T) {
	u := judgetest.Unit()
	u.Inference.RequestModel = "fake-judge"
	got, _ := ask(t, "systemone", first(), u, nil)
	if diff := cmp.Diff([]string{judge.FlagSameModel}, got.Verdicts[0].Flags); diff != "" {
		t.Error(diff)
	}
}

// TestRedactedIsFlagged: a verdict about what redaction rules left says so.
func TestRedactedIsFlagged(t *testing.T) {
	for redacted, want := range map[string][]string{"": nil, record.RedactedMasked: {judge.FlagRedacted}, record.RedactedRaw: {judge.FlagRedacted}} {
		u := judgetest.Unit()
		u.Inference.Redacted = redacted
		got, _ := ask(t, "systemone", first(), u, nil)
		if diff := cmp.Diff(want, got.Verdicts[0].Flags); diff != "" {
			t.Errorf("redacted %q: %s", redacted, diff)
		}
	}
}

func TestVersionsAndIDs(t *testing.T) {
	base := func() (judge.BackendConfig, judge.Rubric, judge.Unit) {
		return staticBackend(0.7), three(), judgetest.Unit()
	}
	b, r, u := base()
	want := judgetest.New(t, b, r, nil).Judge(t.Context(), "r", u).Verdicts[0]
	for name, c := range map[string]struct {
		change                    func(*judge.BackendConfig, *judge.Rubric, *judge.Unit)
		criterion, config, sameID bool // what stays the same
	}{
		"nothing":              {func(*judge.BackendConfig, *judge.Rubric, *judge.Unit) {}, true, true, true},
		"another run of words": {func(_ *judge.BackendConfig, r *judge.Rubric, _ *judge.Unit) { r.Criteria[0].Text = "Says sorry." }, false, true, false},
		"threshold":            {func(_ *judge.BackendConfig, r *judge.Rubric, _ *judge.Unit) { r.Threshold = ptr(0.6) }, false, true, false},
		"weight":               {func(_ *judge.BackendConfig, r *judge.Rubric, _ *judge.Unit) { r.Criteria[0].Weight = ptr(3.0) }, true, true, true},
		"another criterion":    {func(_ *judge.BackendConfig, r *judge.Rubric, _ *judge.Unit) { r.Criteria = r.Criteria[:2] }, true, true, true},
		"model":                {func(_ *judge.BackendConfig, r *judge.Rubric, _ *judge.Unit) { r.Model = "m2" }, true, false, false},
		"address":              {func(b *judge.BackendConfig, _ *judge.Rubric, _ *judge.Unit) { b.URL = "http://elsewhere" }, true, true, true},
		"system message":       {func(_ *judge.BackendConfig, r *judge.Rubric, _ *judge.Unit) { r.System = "Be strict. {{default}}" }, true, false, false},
		"another inference":    {func(_ *judge.BackendConfig, _ *judge.Rubric, u *judge.Unit) { u.Inference.ID = "x" }, true, true, false},
		"revision":             {func(_ *judge.BackendConfig, _ *judge.Rubric, u *judge.Unit) { u.Revision = 2 }, true, true, false},
		"rule and rate":        {func(_ *judge.BackendConfig, _ *judge.Rubric, u *judge.Unit) { u.Rule, u.InclusionP = "other", 1 }, true, true, true},
	} {
		b, r, u := base()
		c.change(&b, &r, &u)
		got := judgetest.New(t, b, r, nil).Judge(t.Context(), "r", u).Verdicts[0]
		if (got.CriterionVersion == want.CriterionVersion) != c.criterion || (got.JudgeConfig == want.JudgeConfig) != c.config || (got.ID == want.ID) != c.sameID {
			t.Errorf("%s: criterion version same %v, configuration same %v, id same %v", name,
				got.CriterionVersion == want.CriterionVersion, got.JudgeConfig == want.JudgeConfig, got.ID == want.ID)
		}
	}
	// Turns of one conversation are one unit.
	u.Kind = "conversation"
	a := judgetest.New(t, b, r, nil).VerdictIDs("r", u)
	u.Inference.ID = "another turn"
	if b := judgetest.New(t, b, r, nil).VerdictIDs("r", u); a[0] != b[0] {
		t.Error("a conversation's verdict depends on the turn")
	}
}

func TestConfigValidate(t *testing.T) {
	var good judge.BackendConfig
	good.SetDefaults()
	good.Format, good.URL, good.Model = "chat", "http://127.0.0.1:9/v1", "m"
	for want, change := range map[string]func(*judge.Config, *judge.BackendConfig){
		`format: "chatty": want one of systemone, openai`: func(_ *judge.Config, b *judge.BackendConfig) { b.Format = "chatty" },
		"format: missing":                                 func(_ *judge.Config, b *judge.BackendConfig) { b.Format = "" },
		`profile: "acme": want one of typesafe`:           func(_ *judge.Config, b *judge.BackendConfig) { b.Profile = "acme" },
		`profile vllm speaks systemone`:                   func(_ *judge.Config, b *judge.BackendConfig) { b.Profile = "vllm" },
		"url: missing":                                    func(_ *judge.Config, b *judge.BackendConfig) { b.URL = "" },
		`url: "ftp://x"`:                                  func(_ *judge.Config, b *judge.BackendConfig) { b.URL = "ftp://x" },
		`url: "***@host"`:                                 func(_ *judge.Config, b *judge.BackendConfig) { b.URL = "http://user:hidden@host" },
		`path: "v1"`:                                      func(_ *judge.Config, b *judge.BackendConfig) { b.Path = "v1" },
		"model: missing":                                  func(_ *judge.Config, b *judge.BackendConfig) { b.Model = "" },
		"timeout: 0":                                      func(_ *judge.Config, b *judge.BackendConfig) { b.Timeout = 0 },
		"retries: 11":                                     func(_ *judge.Config, b *judge.BackendConfig) { b.Retries = 11 },
		"max_concurrent: 0":                               func(_ *judge.Config, b *judge.BackendConfig) { b.MaxConcurrent = 0 },
		"min_label_mass: 2":                               func(_ *judge.Config, b *judge.BackendConfig) { b.MinLabelMass = 2 },
		`method: "vote": want one of auto`:                func(_ *judge.Config, b *judge.BackendConfig) { b.Method = "vote" },
		`images: "all": want one of none`:                 func(_ *judge.Config, b *judge.BackendConfig) { b.Images = "all" },
		"input_usd: -1":                                   func(_ *judge.Config, b *judge.BackendConfig) { b.InputUSD = ptr(-1.0) },
		"static: want probability":                        func(_ *judge.Config, b *judge.BackendConfig) { b.Format = "static" },
		`default_backend: "b": want one of a`:             func(c *judge.Config, _ *judge.BackendConfig) { c.DefaultBackend = "b" },
		"cache_window: -1s":                               func(c *judge.Config, _ *judge.BackendConfig) { c.CacheWindow = -time.Second },
		"cache_entries: -1":                               func(c *judge.Config, _ *judge.BackendConfig) { c.CacheEntries = -1 },
		"backend: missing beside url":                     func(c *judge.Config, _ *judge.BackendConfig) { c.URL = "http://x" },
		"backends.default: also given":                    func(c *judge.Config, b *judge.BackendConfig) { c.Backend, c.Backends["default"] = "chat", *b },
		"backends.rule: the name is taken":                func(c *judge.Config, b *judge.BackendConfig) { c.Backends["rule"] = *b },
		`backends.default: format: "nobody": want one of`: func(c *judge.Config, _ *judge.BackendConfig) { c.Backend = "nobody" },
	} {
		cfg, b := judge.DefaultConfig(), good
		cfg.Backends = map[string]judge.BackendConfig{}
		change(&cfg, &b)
		cfg.Backends["a"] = b
		err := cfg.Validate()
		wantError(t, err, want)
		if err != nil && strings.Contains(err.Error(), "hidden") {
			t.Errorf("a password in %q", err)
		}
	}
	cfg := judge.DefaultConfig()
	if cfg.Enabled() || cfg.Validate() != nil {
		t.Errorf("without backends: enabled %v, %v", cfg.Enabled(), cfg.Validate())
	}
	for backend, url := range map[string]string{"ollama": "", "openai": "", "chat": "http://127.0.0.1:9", "systemone": "http://127.0.0.1:9"} {
		cfg.Backend, cfg.URL, cfg.Model = backend, url, "m"
		if err := cfg.Validate(); err != nil || !cfg.Enabled() {
			t.Errorf("%s: %v", backend, err)
		}
	}
}

func TestKeyHeaderAndImageHeader(t *testing.T) {
	s := judgetest.NewServer(t, formatNamed(t, "systemone"))
	b := s.Backend()
	b.Profile, b.Images, b.KeyHeader, b.Key = "typesafe", "assets", "X-Api-Key", record.NewSecret("key-in-its-own-header")
	judgetest.New(t, b, first(), nil).Judge(t.Context(), "r", judgetest.UnitOf(pixelBody(nil)))
	h := s.Seen()[0].Header
	if h.Get("X-Api-Key") != "key-in-its-own-header" || h.Get("Authorization") != "" || h.Get("TypeSafe-Danger-Zone-Images") != "true" {
		t.Errorf("headers %v", h)
	}
	judgetest.New(t, b, first(), nil).Judge(t.Context(), "r", judgetest.Unit())
	if h := s.Seen()[1].Header; h.Get("TypeSafe-Danger-Zone-Images") != "" {
		t.Errorf("headers without an image %v", h)
	}
}

func TestImagesInAnyBase64(t *testing.T) {
	data := []byte("\xfb\xff\xfe bytes whose base64 differs between the alphabets??>>")
	sum := sha256.Sum256(data)
	std := base64.StdEncoding.EncodeToString(data)
	for name, sent := range map[string]string{
		"standard": std, "url": base64.URLEncoding.EncodeToString(data), "no padding": base64.RawStdEncoding.EncodeToString(data),
		"lines": std[:20] + `\r\n` + std[20:], "data url": "data:image/png;base64," + std,
	} {
		body := pixelBody(nil)
		body.Input[1].Parts[1].SHA256 = hex.EncodeToString(sum[:])
		body.Request = []byte(`{"source":{"data":"` + sent + `"}}`)
		_, seen := ask(t, "openai", first(), judgetest.UnitOf(body), nil)
		if !strings.Contains(string(seen[0].Body), std) {
			t.Errorf("%s: the image is not shown: %s", name, seen[0].Body)
		}
	}
}

// A key in the query of a judge's address is shown nowhere.
func TestKeyInTheAddressIsMasked(t *testing.T) {
	s := judgetest.NewServer(t, formatNamed(t, "http"))
	b := s.Backend()
	b.URL, b.Retries = "http://127.0.0.1:1/judge?key=key-in-the-address", 0
	j := judgetest.New(t, b, first(), nil)
	got := j.Judge(t.Context(), "r", judgetest.Unit())
	if v := got.Verdicts[0]; v.Reason != record.ReasonJudgeError || strings.Contains(v.Detail, "key-in-the-address") {
		t.Errorf("%s: %s", v.Reason, v.Detail)
	}
	dry, err := j.DryRun(t.Context(), "r", judgetest.Unit())
	if err != nil || len(dry) != 1 || dry[0].URL != "http://127.0.0.1:1/judge?***" {
		t.Errorf("dry run: %v, %v", dry, err)
	}
}
