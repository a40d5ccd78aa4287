package capture

import (
	"fmt"
	"slices"
	"time"

	"docket/internal/price"
	"docket/internal/record"
	"docket/internal/redact"
)

// Values of Config.WhenFull.
const (
	WhenFullPass    = "pass"
	WhenFullFail503 = "fail_503"
)

// Config is the capture section of the settings. The spool's settings lie
// beside it, under capture.spool.
type Config struct {
	Level           string          `yaml:"level" doc:"how much is kept by default: full, metadata (no bodies) or off"`
	MaxBody         record.ByteSize `yaml:"max_body" doc:"copy limit of one body; size and checksum cover the whole body"`
	MaxValue        record.ByteSize `yaml:"max_value" doc:"in a body that outgrows max_body, values of inline bytes (base64) longer than this are kept as type and size only, so that what is behind them is kept"`
	BufferBytes     record.ByteSize `yaml:"buffer_bytes" doc:"memory for the copies of all open calls together; a call that finds none is recorded as cut"`
	WhenFull        string          `yaml:"when_full" doc:"a call that cannot be recorded is passed on (pass) or answered with 503 (fail_503)"`
	Project         string          `yaml:"project" doc:"project of calls that name none"`
	Environment     string          `yaml:"environment" doc:"environment of calls that name none"`
	ServiceName     string          `yaml:"service_name" doc:"service.name of the spans"`
	SpanContent     bool            `yaml:"span_content" doc:"put the messages on the spans"`
	KeepHeaders     []string        `yaml:"keep_headers" doc:"further request and response headers to keep; secrets are never kept"`
	BatchInterval   time.Duration   `yaml:"batch_interval" doc:"how long a batch is filled; a batch is three inserts, one for each table"`
	BatchBytes      record.ByteSize `yaml:"batch_bytes" doc:"raw bodies in one batch"`
	BatchExchanges  int             `yaml:"batch_exchanges" doc:"exchanges in one batch"`
	ShutdownDrain   time.Duration   `yaml:"shutdown_drain" doc:"how long a stop may take to deliver what is recorded; the rest is delivered after the next start"`
	ConversationIDs []string        `yaml:"conversation_headers" doc:"further request headers that carry a conversation id, first one wins"`
	UserIDs         []string        `yaml:"user_headers" doc:"further request headers that carry the end user, first one wins"`
	PromptNames     []string        `yaml:"prompt_name_headers" doc:"further request headers that carry the name of the prompt template, first one wins"`
	PromptVersions  []string        `yaml:"prompt_version_headers" doc:"further request headers that carry its version, first one wins"`
	TagHeaders      []string        `yaml:"tag_headers" doc:"further request headers with tags, all of which count"`
	Environments    []string        `yaml:"environment_headers" doc:"further request headers that carry the environment, first one wins"`
	Projects        []string        `yaml:"project_headers" doc:"further request headers that carry the project, first one wins"`
	MetadataHeaders []string        `yaml:"metadata_headers" doc:"further request headers with metadata: a JSON object, or with * at the end one header for each field"`
	Price           price.Config    `yaml:"price"`
	Redact          redact.Config   `yaml:"redact"`
}

// DefaultConfig is what holds where nothing is set.
func DefaultConfig() Config {
	return Config{
		Level:          record.CaptureFull,
		MaxBody:        16 * record.MiB,
		MaxValue:       64 * record.KiB,
		BufferBytes:    64 * record.MiB,
		WhenFull:       WhenFullPass,
		Project:        "default",
		ServiceName:    "docket-proxy",
		BatchInterval:  2 * time.Second, // three inserts in it stay under two a second
		BatchBytes:     16 * record.MiB,
		BatchExchanges: 10_000,
		ShutdownDrain:  10 * time.Second,
		ConversationIDs: []string{
			"Helicone-Session-Id", "X-Session-Id", "X-Conversation-Id", "X-LiteLLM-Session-Id", "langfuse_session_id",
			"X-OpenWebUI-Chat-Id", "X-Claude-Code-Session-Id",
		},
		UserIDs: []string{
			"Helicone-User-Id", "X-User-Id", "X-LiteLLM-End-User-Id", "X-LiteLLM-Customer-Id", "langfuse_trace_user_id",
			"X-OpenWebUI-User-Id",
		},
		PromptNames:     []string{"Helicone-Prompt-Id"},
		TagHeaders:      []string{"X-LiteLLM-Tags", "langfuse_tags"},
		MetadataHeaders: []string{"Helicone-Property-*", "X-Portkey-Metadata", "cf-aig-metadata", "X-LiteLLM-Spend-Logs-Metadata"},
		Price:           price.DefaultConfig(),
	}
}

// Validate says which setting is wrong and what is allowed.
func (c Config) Validate() error {
	if !isLevel(c.Level) {
		return fmt.Errorf("level: %q: must be full, metadata or off", c.Level)
	}
	if !slices.Contains([]string{WhenFullPass, WhenFullFail503}, c.WhenFull) {
		return fmt.Errorf("when_full: %q: must be pass or fail_503", c.WhenFull)
	}
	for _, s := range []struct {
		key      string
		size     record.ByteSize
		min, max record.ByteSize
	}{
		{"max_body", c.MaxBody, 0, 256 * record.MiB},
		{"max_value", c.MaxValue, record.KiB, 256 * record.MiB},
		{"buffer_bytes", c.BufferBytes, record.MiB, 64 * record.GiB},
		{"batch_bytes", c.BatchBytes, 64 * record.KiB, record.GiB},
	} {
		if s.size < s.min || s.size > s.max {
			return fmt.Errorf("%s: %s: must be %s to %s", s.key, s.size, s.min, s.max)
		}
	}
	if c.BatchInterval < 10*time.Millisecond || c.BatchInterval > time.Minute {
		return fmt.Errorf("batch_interval: %s: must be 10ms to 1m", c.BatchInterval)
	}
	if c.BatchExchanges < 1 || c.BatchExchanges > 100_000 {
		return fmt.Errorf("batch_exchanges: %d: must be 1 to 100000", c.BatchExchanges)
	}
	if c.ShutdownDrain < 0 || c.ShutdownDrain > 10*time.Minute {
		return fmt.Errorf("shutdown_drain: %s: must be 0s to 10m", c.ShutdownDrain)
	}
	if err := c.validateHeaders(); err != nil {
		return err
	}
	if err := c.Price.Validate(); err != nil {
		return fmt.Errorf("price.%w", err)
	}
	if err := c.Redact.Validate(); err != nil {
		return fmt.Errorf("redact.%w", err)
	}
	return nil
}

// ValidateUpstreams checks what the settings say of single upstreams against
// those that there are.
func (c Config) ValidateUpstreams(exists func(name string) bool) error {
	if err := c.Redact.ValidateUpstreams(exists); err != nil {
		return fmt.Errorf("capture.redact.%w", err)
	}
	return nil
}

func isLevel(s string) bool {
	return s == record.CaptureFull || s == record.CaptureMetadata || s == record.CaptureOff
}

// maxHeadBytes is more than a record has beside its bodies.
const maxHeadBytes = record.MiB

// minSegments is how many segments the spool has room for. A call that stays
// open keeps carrySegments of them; one is written, and one is read.
const minSegments = carrySegments + 2

// ValidateSpool checks the sizes of the spool: a record with two bodies fits into
// a segment, and open calls cannot fill all of them.
func (c Config) ValidateSpool(segment, all record.ByteSize) error {
	if most := 2*c.MaxBody + maxHeadBytes; most > segment {
		return fmt.Errorf("spool.segment_bytes: %v: want at least %v, for a record with two bodies of max_body (%v)", segment, most, c.MaxBody)
	}
	if all < minSegments*segment {
		return fmt.Errorf("spool.max_bytes: %v: want at least %v, room for %d segments of segment_bytes (%v)", all, minSegments*segment, minSegments, segment)
	}
	return nil
}
