package localclickhouse_test

import (
	"strings"
	"testing"
)

// BenchmarkBatch sends 1,000 rows of about 250 bytes, as the store does.
func BenchmarkBatch(b *testing.B) {
	conn, _ := database(b)
	exec(b, conn, "CREATE TABLE t (n UInt64, model LowCardinality(String), body String) ENGINE = MergeTree ORDER BY n")
	body := strings.Repeat("some text ", 25)
	n := uint64(0)
	for b.Loop() {
		batch, err := conn.PrepareBatch(b.Context(), "INSERT INTO t (n, model, body)")
		if err != nil {
			b.Fatal(err)
		}
		for range 1000 {
			n++
			if err := batch.Append(n, "model", body); err != nil {
				b.Fatal(err)
			}
		}
		if err := batch.Send(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkSelectOne is the cost of a request that does nothing.
func BenchmarkSelectOne(b *testing.B) {
	conn := connect(b, options(b, "default"))
	for b.Loop() {
		if err := conn.Ping(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
