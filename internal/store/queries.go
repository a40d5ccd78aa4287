package store

import (
	"embed"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

//go:embed queries/*.sql
var queryFiles embed.FS

// queries are the statements of reads. Templates choose conditions and columns;
// values are always bound.
type queries struct{ t *template.Template }

func loadQueries() (queries, error) {
	t, err := template.New("").Option("missingkey=error").ParseFS(queryFiles, "queries/*.sql")
	return queries{t}, err
}

func (q queries) render(name string, data any) (string, error) {
	var b strings.Builder
	if err := q.t.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("query %s: %w", name, err)
	}
	// A condition that is not chosen leaves an empty line.
	lines := strings.Split(b.String(), "\n")
	kept := lines[:0]
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n"), nil
}

// named is a bound parameter.
func named(name string, value any) driver.NamedValue { return clickhouse.Named(name, value) }

// timeParam writes a time for a parameter of type DateTime64(6, 'UTC').
func timeParam(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000") }

// tableName quotes table or database.table.
func tableName(name string) string {
	if database, table, ok := strings.Cut(name, "."); ok {
		return quote(database) + "." + quote(table)
	}
	return quote(name)
}
