package localclickhouse

import (
	"bytes"
	"regexp"
	"strings"
)

// setting is a name that was checked and a value that was not.
type setting struct{ name, value string }

// settingName is what may stand unquoted in a SET statement.
var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// quoteString writes s as a string literal.
func quoteString(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\x00", `\0`).Replace(s) + "'"
}

// quoteName writes s as a quoted identifier.
func quoteName(s string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`", "\x00", `\0`).Replace(s) + "`"
}

func trimNewline(b []byte) []byte { return bytes.TrimSuffix(b, []byte("\n")) }

func indexNewline(b []byte) int { return bytes.IndexByte(b, 10) }
