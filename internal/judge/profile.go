package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Formats: what a backend speaks.
const (
	formatSystemOne = "systemone"
	formatOpenAI    = "openai"
	formatSGLang    = "sglang"
	formatChat      = "chat"
	formatHTTP      = "http"
	formatRule      = "rule"
	formatStatic    = "static"
)

// Image modes: where a request carries images.
const (
	imagesNone    = "none"
	imagesAssets  = "assets"   // top-level assets by id, named in the state
	imagesBase64  = "base64"   // top-level list of plain base64
	imagesDataURL = "data_url" // top-level list of data URLs
	imagesState   = "state"    // the state is a list with image_url parts
	imagesItems   = "items"    // in place, inside message items
)

func imageModes() []string {
	return []string{imagesNone, imagesAssets, imagesBase64, imagesDataURL, imagesState, imagesItems}
}

// profile is what is known about a kind of server. Limits are those its makers
// publish or that were measured; bytes are tokens times 3, on the safe side.
type profile struct {
	name           string
	format         string
	url            string // base URL when the settings have none
	path           string // appended to the base URL
	needsModel     bool
	maxQuestions   int
	maxInput       int // bytes of state and questions together
	maxImages      int // per request
	images         string
	imageHeader    string // request header that switches images on
	unwrap         string // member of the answer that holds the answer proper
	authHeader     string // "" is Authorization: Bearer
	retryStatuses  []int  // beside all from 500 on
	attemptTimeout time.Duration
	noTemplateArgs bool // unknown fields are refused
}

func profiles() []profile {
	return []profile{
		{
			name: "typesafe", format: formatSystemOne, url: "https://api.typesafe.ai", needsModel: true, maxQuestions: 400,
			maxInput: 96_000, maxImages: 8, images: imagesNone, imageHeader: "TypeSafe-Danger-Zone-Images", attemptTimeout: 10 * time.Second,
		},
		{name: "vllm", format: formatSystemOne, needsModel: true, maxQuestions: 64, images: imagesNone},
		{name: "ollama", format: formatSystemOne, url: "http://localhost:11434", needsModel: true, maxQuestions: 64, maxImages: 8, images: imagesBase64},
		{name: "llamacpp", format: formatSystemOne, url: "http://localhost:8080", maxQuestions: 64, maxImages: 8, images: imagesDataURL},
		{
			name: "openrouter", format: formatSystemOne, url: "https://openrouter.ai", path: "/api/alpha/decisions", needsModel: true,
			maxQuestions: 400, maxInput: 96_000, images: imagesNone, attemptTimeout: 30 * time.Second,
		},
		{
			name: "perplexity", format: formatSystemOne, url: "https://api.perplexity.ai", path: "/v1/decisions", needsModel: true,
			maxQuestions: 128, maxInput: 780_000, maxImages: 8, images: imagesState, attemptTimeout: 30 * time.Second, noTemplateArgs: true,
		},
		{name: "litellm", format: formatSystemOne, url: "http://localhost:4000", needsModel: true, maxQuestions: 64, images: imagesNone},
		{
			name: "cloudflare", format: formatSystemOne, path: "/", maxQuestions: 64, maxInput: 6_000, maxImages: 4, images: imagesDataURL,
			unwrap: "result", attemptTimeout: 30 * time.Second,
		},
		{name: "fireworks", format: formatSystemOne, url: "https://api.fireworks.ai/inference", needsModel: true, maxQuestions: 64, images: imagesNone},
		{
			name: "openai", format: formatOpenAI, url: "https://api.openai.com", needsModel: true, maxQuestions: 400, maxImages: 128,
			images: imagesItems, retryStatuses: []int{409}, attemptTimeout: 30 * time.Second,
		},
		{name: "litellm-openai", format: formatOpenAI, url: "http://localhost:4000", needsModel: true, maxQuestions: 64, images: imagesNone},
	}
}

// formatProfiles says what is assumed of a server when no profile is named.
func formatProfiles() []profile {
	return []profile{
		{name: formatSystemOne, format: formatSystemOne, path: "/v1/systemone", maxQuestions: 64, images: imagesNone},
		{name: formatOpenAI, format: formatOpenAI, path: "/v1/decisions", needsModel: true, maxQuestions: 400, maxImages: 128, images: imagesItems},
		{name: formatSGLang, format: formatSGLang, path: "/v1/decisions", maxQuestions: 64, maxImages: 8, images: imagesNone},
		{name: formatChat, format: formatChat, path: "/v1/chat/completions", needsModel: true, maxQuestions: 1, maxImages: 16, images: imagesNone, attemptTimeout: 60 * time.Second},
		{name: formatHTTP, format: formatHTTP, path: "/", maxQuestions: 400, images: imagesNone},
		{name: formatStatic, format: formatStatic, maxQuestions: 10_000, images: imagesNone},
	}
}

func profileByName(name string) (profile, bool) {
	all := profiles()
	i := slices.IndexFunc(all, func(p profile) bool { return p.name == name })
	if i < 0 {
		return profile{}, false
	}
	return all[i], true
}

func formatByName(name string) (profile, bool) {
	all := formatProfiles()
	i := slices.IndexFunc(all, func(p profile) bool { return p.name == name })
	if i < 0 {
		return profile{}, false
	}
	return all[i], true
}

func profileNames() []string {
	var out []string
	for _, p := range profiles() {
		if _, isFormat := formatByName(p.name); !isFormat {
			out = append(out, p.name)
		}
	}
	return out
}

func formatNames() []string {
	return []string{formatSystemOne, formatOpenAI, formatSGLang, formatChat, formatHTTP, formatStatic}
}

// profile returns what holds for the backend: the named profile or the format's
// assumptions, with the settings laid over them.
func (b BackendConfig) profile() (profile, error) {
	var p profile
	switch {
	case b.Profile != "":
		named, ok := profileByName(b.Profile)
		if !ok {
			return p, fmt.Errorf("profile: %q: want one of %s", b.Profile, strings.Join(profileNames(), ", "))
		}
		if b.Format != "" && b.Format != named.format {
			return p, fmt.Errorf("format: %q: profile %s speaks %s", b.Format, b.Profile, named.format)
		}
		p = named
	case b.Format != "":
		named, ok := formatByName(b.Format)
		if !ok {
			return p, fmt.Errorf("format: %q: want one of %s", b.Format, strings.Join(formatNames(), ", "))
		}
		p = named
	default:
		return p, fmt.Errorf("format: missing: want one of %s; or a profile: %s", strings.Join(formatNames(), ", "), strings.Join(profileNames(), ", "))
	}
	base, _ := formatByName(p.format)
	if p.path == "" {
		p.path = base.path
	}
	if p.attemptTimeout == 0 {
		p.attemptTimeout = 60 * time.Second
	}
	b.overlay(&p)
	return p, nil
}

func (b BackendConfig) overlay(p *profile) {
	if b.URL != "" {
		p.url = b.URL
	}
	if b.Path != "" {
		p.path = b.Path
	}
	if b.AttemptTimeout > 0 {
		p.attemptTimeout = b.AttemptTimeout
	}
	if b.MaxQuestions > 0 {
		p.maxQuestions = b.MaxQuestions
	}
	if b.MaxInput > 0 {
		p.maxInput = int(b.MaxInput)
	}
	if b.Images != "" {
		p.images = b.Images
		if p.maxImages == 0 {
			p.maxImages = 8
		}
	}
	if b.KeyHeader != "" {
		p.authHeader = b.KeyHeader
	}
	if p.format == formatChat {
		p.maxQuestions = 1
	}
}
