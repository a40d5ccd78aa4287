package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// timeType is the type of every time column of ours: microseconds, always UTC.
const timeType = "DateTime64(6, 'UTC')"

// table says how rows of type R lie in a table.
type table[R any] struct {
	name    string
	columns []column[R]
	day     func(*R) time.Time // what the table is partitioned by
	monthly bool               // partitions are months
	size    func(*R) int       // bytes of a row beyond a small constant; nil: small
}

// column is one column of a table of R.
type column[R any] struct {
	name, typ string
	// put adds the values of all rows to the block.
	put func(driver.BatchColumn, []R) error
	// scan returns where the driver puts a value, and what takes it to the row.
	scan func() (dest any, take func(*R) error)
}

// field is a column that holds a field as it is.
func field[R, V any](name, typ string, at func(*R) *V) column[R] {
	return convert(name, typ,
		func(r *R) V { return *at(r) },
		func(r *R, v V) error { *at(r) = v; return nil })
}

// convert is a column that holds a field in another shape.
func convert[R, V any](name, typ string, get func(*R) V, set func(*R, V) error) column[R] {
	return column[R]{
		name: name, typ: typ,
		put: func(c driver.BatchColumn, rows []R) error {
			values := make([]V, len(rows))
			for i := range rows {
				values[i] = get(&rows[i])
			}
			return c.Append(values)
		},
		scan: func() (any, func(*R) error) {
			v := new(V)
			return v, func(r *R) error { return set(r, *v) }
		},
	}
}

// text is a String column of bounded, valid UTF-8.
func text[R any](name string, at func(*R) *string) column[R] {
	return stringColumn(name, "String", at)
}

// word is a column of strings with few different values.
func word[R any](name string, at func(*R) *string) column[R] {
	return stringColumn(name, "LowCardinality(String)", at)
}

func stringColumn[R any](name, typ string, at func(*R) *string) column[R] {
	return convert(name, typ,
		func(r *R) string { return cleanText(*at(r)) },
		func(r *R, v string) error { *at(r) = v; return nil })
}

// words is an array of strings with few different values.
func words[R any](name string, at func(*R) *[]string) column[R] {
	return convert(name, "Array(LowCardinality(String))",
		func(r *R) []string { return cleanAll(*at(r)) },
		func(r *R, v []string) error {
			if len(v) == 0 {
				v = nil
			}
			*at(r) = v
			return nil
		})
}

// pairs is a map of strings.
func pairs[R any](name string, at func(*R) *map[string]string) column[R] {
	return convert(name, "Map(LowCardinality(String), String)",
		func(r *R) map[string]string { return cleanMap(*at(r)) },
		func(r *R, v map[string]string) error {
			if len(v) == 0 {
				v = nil
			}
			*at(r) = v
			return nil
		})
}

// counts is a map of names to numbers.
func counts[R any](name string, at func(*R) *map[string]uint32) column[R] {
	return convert(name, "Map(LowCardinality(String), UInt32)",
		func(r *R) map[string]uint32 { return *at(r) },
		func(r *R, v map[string]uint32) error {
			if len(v) == 0 {
				v = nil
			}
			*at(r) = v
			return nil
		})
}

// moment is a time column.
func moment[R any](name string, at func(*R) *time.Time) column[R] {
	return convert(name, timeType,
		func(r *R) time.Time { return *at(r) },
		func(r *R, v time.Time) error { *at(r) = v.UTC(); return nil })
}

// micros is a duration in microseconds.
func micros[R any](name string, at func(*R) *time.Duration) column[R] {
	return convert(name, "UInt64",
		func(r *R) uint64 { return toMicros(*at(r)) },
		func(r *R, v uint64) error { *at(r) = fromMicros(v); return nil })
}

func toMicros(d time.Duration) uint64   { return uint64(max(d, 0).Microseconds()) }
func fromMicros(v uint64) time.Duration { return time.Duration(v) * time.Microsecond }

// names lists the columns for a SELECT or an INSERT.
func (t table[R]) names() string {
	var b strings.Builder
	for i, c := range t.columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(c.name))
	}
	return b.String()
}

// types lists the columns for the driver, which else asks the server before
// each insert.
func (t table[R]) types() []clickhouse.ColumnNameAndType {
	out := make([]clickhouse.ColumnNameAndType, len(t.columns))
	for i, c := range t.columns {
		out[i] = clickhouse.ColumnNameAndType{Name: c.name, Type: c.typ}
	}
	return out
}

// collect reads all rows of a query that selects names().
func (t table[R]) collect(ctx context.Context, conn driver.Conn, query string, args ...any) (out []R, err error) {
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := rows.Close(); err == nil {
			err = cerr
		}
	}()
	dest := make([]any, len(t.columns))
	take := make([]func(*R) error, len(t.columns))
	for i, c := range t.columns {
		dest[i], take[i] = c.scan()
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, fmt.Errorf("read a row of %s: %w", t.name, err)
		}
		var r R
		for i, f := range take {
			if err := f(&r); err != nil {
				return nil, fmt.Errorf("read column %s of %s: %w", t.columns[i].name, t.name, err)
			}
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// quote makes a checked name safe in a statement.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
