package store

import (
	"fmt"
	"strings"
	"text/template"
	"time"
)

// dedupWindow is how many of its last inserts each table remembers.
const dedupWindow = 100_000

// dedupSeconds is how long a replicated table remembers them; its own default is
// an hour.
const dedupSeconds = 7 * 24 * 3600

// dedupSettings are the windows as table settings. The replicated ones do
// nothing on a plain table, but ClickHouse Cloud turns every table into one to
// which they apply.
func dedupSettings() string {
	return fmt.Sprintf("non_replicated_deduplication_window = %d, replicated_deduplication_window = %d, replicated_deduplication_window_seconds = %d",
		dedupWindow, dedupWindow, dedupSeconds)
}

// ddl renders statements that create tables.
type ddl struct {
	database string
	cluster  string
	spans    string // table or database.table
	ttls     map[string]string
	spanTTL  string
}

// newDDL says, beside the names, when the rows of each table expire. The time of
// insertion counts, so that no row is born expired; hourly sums are written
// again and again and have only their hour.
func newDDL(cfg Config, database string) ddl {
	inserted := func(d time.Duration) string { return "toDateTime(inserted_at) + " + interval(d) }
	return ddl{
		database: database,
		cluster:  cfg.Cluster,
		spans:    cfg.SpansTable,
		spanTTL:  interval(cfg.SpanTTL),
		ttls: map[string]string{
			"inferences":       inserted(cfg.TTL),
			"inference_bodies": inserted(cfg.BodyTTL),
			"candidates":       inserted(candidateTTL),
			"judge_calls":      inserted(cfg.VerdictTTL),
			"verdicts":         "toDateTime(judged_at) + " + interval(cfg.VerdictTTL),
			"eval_epochs":      inserted(cfg.VerdictTTL),
			"capture_gaps":     inserted(cfg.VerdictTTL),
			"feedback":         inserted(cfg.VerdictTTL),
			"deleted_ids":      "toDateTime(deleted_at) + " + interval(cfg.TTL),
			"traffic_hourly":   "toDateTime(hour) + " + interval(cfg.VerdictTTL),
			"quality_hourly":   "toDateTime(hour) + " + interval(cfg.VerdictTTL),
		},
	}
}

// candidateTTL is how long an inference may wait to be judged.
const candidateTTL = 14 * 24 * time.Hour

func interval(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("toIntervalDay(%d)", d/(24*time.Hour))
	}
	return fmt.Sprintf("toIntervalHour(%d)", d/time.Hour)
}

// render fills a statement. An empty result means that there is nothing to do.
func (d ddl) render(source string) (string, error) {
	t, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"table":            d.table,
		"object":           d.object,
		"onCluster":        d.onCluster,
		"engine":           d.engine,
		"distributed":      d.distributed,
		"alterDistributed": d.alterDistributed,
		"ttl":              d.ttl,
		"dedup":            dedupSettings,
		"spans":            d.spansLocal,
		"spansObject":      d.spansObject,
		"distributedSpans": d.distributedSpans,
		"spanTTL":          func() string { return d.spanTTL },
	}).Parse(source)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, nil); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// object is a view or table of our database.
func (d ddl) object(name string) string { return quote(d.database) + "." + quote(name) }

// table is where rows lie: behind a Distributed table in a cluster.
func (d ddl) table(name string) string { return d.object(d.local(name)) }

func (d ddl) local(name string) string {
	if d.cluster == "" {
		return name
	}
	return name + "_local"
}

func (d ddl) onCluster() string {
	if d.cluster == "" {
		return ""
	}
	return " ON CLUSTER " + quote(d.cluster)
}

func (d ddl) engine(engine string) string {
	if d.cluster == "" {
		return engine
	}
	return "Replicated" + engine
}

func (d ddl) distributed(name, shardBy string) string {
	return d.distributedTable(d.database, name, shardBy)
}

// alterDistributed changes a Distributed table as its local table was changed.
func (d ddl) alterDistributed(name, changes string) string {
	if d.cluster == "" {
		return ""
	}
	return "ALTER TABLE " + d.object(name) + d.onCluster() + " " + changes
}

func (d ddl) distributedTable(database, name, shardBy string) string {
	if d.cluster == "" {
		return ""
	}
	db := quote(database) + "."
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s%s AS %s ENGINE = Distributed(%s, %s, %s, %s)",
		db+quote(name), d.onCluster(), db+quote(d.local(name)),
		literal(d.cluster), literal(database), literal(d.local(name)), shardBy)
}

func (d ddl) ttl(name string) (string, error) {
	if d.ttls[name] == "" {
		return "", fmt.Errorf("table %s has no TTL", name)
	}
	return d.ttls[name], nil
}

// alterTTL changes when the rows of a table expire. Nothing is rewritten at once.
func (d ddl) alterTTL(name string) string {
	return fmt.Sprintf("ALTER TABLE %s%s MODIFY TTL %s SETTINGS materialize_ttl_after_modify = 0", d.table(name), d.onCluster(), d.ttls[name])
}

// spansName splits the name of the spans table with a suffix.
func (d ddl) spansName(suffix string) (database, name string) {
	database, name, ok := strings.Cut(d.spans, ".")
	if !ok {
		database, name = d.database, d.spans
	}
	return database, name + suffix
}

func (d ddl) spansLocal(suffix string) string {
	database, name := d.spansName(suffix)
	return quote(database) + "." + quote(d.local(name))
}

func (d ddl) spansObject(suffix string) string {
	database, name := d.spansName(suffix)
	return quote(database) + "." + quote(name)
}

func (d ddl) distributedSpans(suffix, shardBy string) string {
	database, name := d.spansName(suffix)
	return d.distributedTable(database, name, shardBy)
}

// literal is a checked name as a string of SQL.
func literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
