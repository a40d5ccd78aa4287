package localclickhouse

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Codes of ClickHouse exceptions that are raised or looked at here.
const (
	codeBadArguments   = 36
	codeNotImplemented = 48
	codeLogical        = 49
	codeUnknownTable   = 60
	codeSyntax         = 62
	codeUnknownDB      = 81
	codeCannotReadAll  = 33
	codeUnknownSetting = 115
	codeTimeout        = 159
	codeReadonly       = 164
	codeTooLarge       = 307
	codeTooMany        = 202
	codeMemoryLimit    = 241
	codeCannotDecode   = 271
	codeCancelled      = 394
	codeDenied         = 497
	codeAuth           = 516
)

// Exception is an error of the engine, or one that this package raises in its
// place, as a ClickHouse server words it.
type Exception struct {
	Code    int
	Name    string // symbolic, such as UNKNOWN_TABLE; may be empty
	Message string // without code and name
}

// Error is the text that the drivers of ClickHouse parse.
func (e *Exception) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("Code: %d. DB::Exception: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("Code: %d. DB::Exception: %s. (%s)", e.Code, e.Message, e.Name)
}

// status is the HTTP status a server answers with.
func (e *Exception) status() int {
	switch e.Code {
	case codeAuth:
		return http.StatusForbidden
	case codeUnknownTable, codeUnknownDB:
		return http.StatusNotFound
	case codeSyntax, codeBadArguments, codeUnknownSetting, codeCannotReadAll, codeCannotDecode:
		return http.StatusBadRequest
	case codeTooLarge:
		return http.StatusRequestEntityTooLarge
	case codeNotImplemented:
		return http.StatusNotImplemented
	case codeTooMany:
		return http.StatusServiceUnavailable
	case codeDenied:
		return http.StatusForbidden
	default:
		return http.StatusInternalServerError
	}
}

var (
	// Both spellings of the engine: one-shot statements use the first.
	exceptionStart = regexp.MustCompile(`^(?:Code: (\d+)\. DB::[A-Za-z]*Exception:|[Cc]ode: (\d+),? (?:e\.displayText\(\)|message):)\s?`)
	exceptionEnd   = regexp.MustCompile(`\.? ?\(([A-Z][A-Z0-9_]*)\)\s*$`)
	versionSuffix  = regexp.MustCompile(`\s*\(version [0-9.]+[^()]*(?:\([^()]*\))?\)\s*$`)
)

// parseException reads an error text of the engine; "" is no error. The engine
// sometimes wraps an exception into another of the same code: one is kept.
func parseException(text string) error {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	e := &Exception{Message: text}
	for {
		m := exceptionStart.FindStringSubmatch(e.Message)
		if m == nil {
			break
		}
		code, err := strconv.ParseInt(m[1]+m[2], 10, 32)
		if err != nil || (e.Code != 0 && int(code) != e.Code) {
			break
		}
		e.Code = int(code)
		e.Message = e.Message[len(m[0]):]
		e.trimEnd()
	}
	if e.Code <= 0 {
		e.Code, e.Name = codeLogical, "LOGICAL_ERROR"
	}
	return e
}

// trimEnd moves the symbolic name from the end of the message into Name.
func (e *Exception) trimEnd() {
	e.Message = versionSuffix.ReplaceAllString(e.Message, "")
	if m := exceptionEnd.FindStringSubmatchIndex(e.Message); m != nil {
		e.Name = e.Message[m[2]:m[3]]
		e.Message = e.Message[:m[0]]
	}
	e.Message = versionSuffix.ReplaceAllString(e.Message, "")
}
