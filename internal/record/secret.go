package record

import "log/slog"

// Secret is a value that must not be printed: every way of formatting it,
// encoding it or logging it gives "***". Reveal is the only way to its value.
type Secret struct{ value string }

// NewSecret wraps a value.
func NewSecret(v string) Secret { return Secret{v} }

// Reveal returns the value, for the one place that sends it.
func (s Secret) Reveal() string { return s.value }

// IsZero says whether the value is empty.
func (s Secret) IsZero() bool { return s.value == "" }

// String returns "***", or "" when nothing is set.
func (s Secret) String() string {
	if s.value == "" {
		return ""
	}
	return "***"
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the value from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the value from settings.
func (s *Secret) UnmarshalText(b []byte) error {
	s.value = string(b)
	return nil
}
