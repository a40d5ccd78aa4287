package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"docket/internal/record"
)

// bodies is what the inferences said.
func bodies() table[record.Body] {
	type R = record.Body
	return table[R]{
		name: "inference_bodies",
		day:  func(r *R) time.Time { return r.Time },
		size: bodySize,
		columns: []column[R]{
			moment("ts", func(r *R) *time.Time { return &r.Time }),
			text("inference_id", func(r *R) *string { return &r.InferenceID }),
			word("project", func(r *R) *string { return &r.Project }),
			pairs("request_headers", func(r *R) *map[string]string { return &r.RequestHeaders }),
			pairs("response_headers", func(r *R) *map[string]string { return &r.ResponseHeaders }),
			raw("request", func(r *R) *[]byte { return &r.Request }),
			raw("response", func(r *R) *[]byte { return &r.Response }),
			messages("input", func(r *R) *[]record.Message { return &r.Input }),
			messages("output", func(r *R) *[]record.Message { return &r.Output }),
			convert("tools", "String",
				func(r *R) string { return validText(r.Tools) },
				func(r *R, v string) error { r.Tools = v; return nil }),
		},
	}
}

// bodySize is about what a body takes in an insert. It must not change with
// time: chunks and so tokens follow from it.
func bodySize(r *record.Body) int {
	n := len(r.Request) + len(r.Response) + len(r.Tools)
	for _, list := range [][]record.Message{r.Input, r.Output} {
		for i := range list {
			for j := range list[i].Parts {
				p := &list[i].Parts[j]
				n += 64 + len(p.Content)
				if p.Arguments != nil {
					n += len(*p.Arguments)
				}
				if p.Response != nil {
					n += len(*p.Response)
				}
			}
		}
	}
	return n
}

// raw is a String column that holds bytes as they are. Absent bytes read as nil.
func raw[R any](name string, at func(*R) *[]byte) column[R] {
	c := convert(name, "String",
		func(r *R) []byte { return *at(r) },
		func(r *R, v []byte) error {
			if len(v) == 0 {
				v = nil
			}
			*at(r) = v
			return nil
		})
	// Row by row, as the driver copies a slice of slices twice.
	c.put = func(b driver.BatchColumn, rows []R) error {
		for i := range rows {
			if err := b.AppendRow(*at(&rows[i])); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// messages is a String column that holds messages as JSON, "" for none. The
// engine's JSON type would refuse what models really send.
func messages[R any](name string, at func(*R) *[]record.Message) column[R] {
	return convert(name, "String",
		func(r *R) string { return encodeMessages(*at(r)) },
		func(r *R, v string) error {
			if v == "" {
				return nil
			}
			if err := json.Unmarshal([]byte(v), at(r)); err != nil {
				return fmt.Errorf("decode messages: %w", err)
			}
			return nil
		})
}

// encodeMessages writes messages as JSON without escaping <, > and &, so that a
// text search finds them.
func encodeMessages(list []record.Message) string {
	if list == nil {
		return ""
	}
	return encodeJSON(list)
}

// encodeJSON encodes values that cannot fail to encode: strings, numbers and
// structs of them. Invalid UTF-8 becomes U+FFFD.
func encodeJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
