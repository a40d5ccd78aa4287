package localclickhouse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScan(t *testing.T) {
	for sql, want := range map[string]statement{
		"":                    {},
		"  -- only a comment": {},
		"select 1":            {verb: "SELECT"},
		"/* a */ -- b\n#! c\n# d\n(WITH 1 AS x SELECT x)": {verb: "WITH"},
		"SELECT 1 FORMAT JSON":                            {verb: "SELECT", format: "JSON"},
		"SELECT 1 format TSV ; ":                          {verb: "SELECT", format: "TSV"},
		"SELECT 1 FORMAT CSV SETTINGS a = 1":              {verb: "SELECT", format: "CSV"},
		"SELECT format FROM t":                            {verb: "SELECT"},
		"SELECT 'x FORMAT JSON":                           {verb: "SELECT"},
		"SELECT `FORMAT` JSON":                            {verb: "SELECT"},
		"SELECT (1 FORMAT JSON)":                          {verb: "SELECT"},
		"SELECT $a$ ' FORMAT $a$ FORMAT Null":             {verb: "SELECT", format: "Null"},
		"INSERT INTO t FORMAT Native":                     {verb: "INSERT", format: "Native"},
		"INSERT INTO t (format, a) FORMAT CSV\n1,'":       {verb: "INSERT", format: "CSV"},
		"INSERT INTO t VALUES (file('x'))":                {verb: "INSERT"},
		"INSERT INTO format VALUES (1)":                   {verb: "INSERT"},
		"INSERT INTO t SELECT 1":                          {verb: "INSERT"},
		"SELECT file('x')":                                {verb: "SELECT", reachesOut: true},
		"SELECT File /* */\n('x')":                        {verb: "SELECT", reachesOut: true},
		"SELECT \"file\"('x')":                            {verb: "SELECT", reachesOut: true},
		"SELECT `fi\\x6ce`('x')":                          {verb: "SELECT", reachesOut: true},
		"SELECT `fi``le`('x')":                            {verb: "SELECT", reachesOut: true},
		"SELECT 1 -- '\n, file('x')":                      {verb: "SELECT", reachesOut: true},
		"SELECT 'it''s \\' -- ', file('x')":               {verb: "SELECT", reachesOut: true},
		"SELECT * FROM eval('SELECT 1')":                  {verb: "SELECT", reachesOut: true},
		"SELECT aiGenerate('a', 'b')":                     {verb: "SELECT", reachesOut: true},
		"SELECT 'file('":                                  {verb: "SELECT"},
		"SELECT file, (1)":                                {verb: "SELECT"},
		"SELECT profile('x')":                             {verb: "SELECT"},
	} {
		t.Run(sql, func(t *testing.T) {
			got := scan(sql)
			got.head, got.tail = 0, 0
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(statement{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestScanCuts(t *testing.T) {
	for _, c := range []struct{ sql, head, tail string }{
		{"INSERT INTO t (a) FORMAT CSV\n1,2", "INSERT INTO t (a) ", "\n1,2"},
		{"INSERT INTO t SETTINGS a=1 FORMAT Native", "INSERT INTO t SETTINGS a=1 ", ""},
		{"SELECT 1;", "SELECT 1", ""},
		{"SELECT 1 FORMAT JSON;", "SELECT 1 ", ";"},
		{"SELECT 1 -- x", "SELECT 1 -- x", ""},
	} {
		st := scan(c.sql)
		if c.sql[:st.head] != c.head || c.sql[st.tail:] != c.tail {
			t.Errorf("%q: got %q and %q, want %q and %q", c.sql, c.sql[:st.head], c.sql[st.tail:], c.head, c.tail)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, sql := range []string{"SELECT 1 FORMAT JSON", "INSERT INTO t FORMAT CSV\n'", "SELECT $a$ x $a$, `a``b`(1)", "/* -- */ ( 'a\\'", "# \n\"x"} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		st := scan(sql)
		if st.head < 0 || st.head > st.tail || st.tail > len(sql) {
			t.Errorf("cuts %d and %d of %d", st.head, st.tail, len(sql))
		}
		if st.format != "" && !formatName(st.format) && len(st.format) <= 64 {
			t.Errorf("format %q", st.format)
		}
		lx := lexer{src: sql}
		for last := 0; lx.next().kind != tokenEnd; last = lx.pos {
			if lx.pos <= last || lx.pos > len(sql) {
				t.Fatalf("from %d to %d", last, lx.pos)
			}
		}
	})
}

// FuzzQuoting checks that no value can leave its literal, and no name its
// quotes, as the engine reads them.
func FuzzQuoting(f *testing.F) {
	for _, s := range []string{"", "'", `\`, `\'`, "`", "\x00", "a', b = 'c", "$a$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, quoted := range []string{quoteString(s), quoteName(s)} {
			lx := lexer{src: quoted + " end"}
			if tok := lx.next(); lx.pos != len(quoted) || tok.kind == tokenOther {
				t.Errorf("%q: the token ends at %d", quoted, lx.pos)
			}
			if tok := lx.next(); !tok.word("end") {
				t.Errorf("%q: followed by %q", quoted, tok.text)
			}
			if strings.ContainsRune(quoted, 0) {
				t.Errorf("%q: a NUL byte", quoted)
			}
		}
	})
}
