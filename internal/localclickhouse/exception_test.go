package localclickhouse

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseException(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want *Exception
	}{
		"one shot": {
			"Code: 60. DB::Exception: Unknown table 'x'. Maybe you meant y?. (UNKNOWN_TABLE)",
			&Exception{60, "UNKNOWN_TABLE", "Unknown table 'x'. Maybe you meant y?"},
		},
		"lower case": {"code: 344, message: DELETE is not allowed. (SUPPORT_IS_DISABLED)", &Exception{344, "SUPPORT_IS_DISABLED", "DELETE is not allowed"}},
		"wrapped": {
			"Code: 164. DB::Exception: Code: 164. DB::Exception: Cannot modify 'readonly'. (READONLY) (version 26.7.2.1). (READONLY)",
			&Exception{164, "READONLY", "Cannot modify 'readonly'"},
		},
		"version": {"Code: 27. DB::Exception: Cannot parse input\n. (CANNOT_PARSE_INPUT_ASSERTION_FAILED) (version 26.7.2.1 (official build))", &Exception{27, "CANNOT_PARSE_INPUT_ASSERTION_FAILED", "Cannot parse input\n"}},
		"other":   {"Invalid insert stream", &Exception{codeLogical, "LOGICAL_ERROR", "Invalid insert stream"}},
		"quoted":  {"Code: 6. DB::Exception: Cannot parse 'Code: 9. DB::Exception: x'. (CANNOT_PARSE_TEXT)", &Exception{6, "CANNOT_PARSE_TEXT", "Cannot parse 'Code: 9. DB::Exception: x'"}},
		"class":   {"Code: 210. DB::NetException: refused. (NETWORK_ERROR)", &Exception{210, "NETWORK_ERROR", "refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got *Exception
			if !errors.As(parseException(c.text), &got) {
				t.Fatal("no exception")
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if err := parseException(" \n"); err != nil {
		t.Errorf("no text is no error, got %v", err)
	}
}

func FuzzParseException(f *testing.F) {
	f.Add("Code: 60. DB::Exception: Unknown table. (UNKNOWN_TABLE)")
	f.Add("code: 1, message: Code: 1. DB::Exception: (A) (version 1)")
	f.Add("Code: 99999999999. DB::Exception: ")
	f.Fuzz(func(t *testing.T, text string) {
		var e *Exception
		if !errors.As(parseException(text), &e) {
			return
		}
		if e.Code <= 0 {
			t.Errorf("code %d", e.Code)
		}
		var again *Exception
		if !errors.As(parseException(e.Error()), &again) || again.Code != e.Code {
			t.Errorf("%q reads back as %v", e.Error(), again)
		}
	})
}
