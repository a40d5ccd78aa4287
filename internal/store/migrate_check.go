package store

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tableInfo is what system.tables says about a table.
type tableInfo struct {
	engine string // "" when there is no such table
	full   string // engine with keys, TTL and settings
	views  []string
}

func (s *Store) tableInfo(ctx context.Context, database string, names []string) (map[string]tableInfo, error) {
	query, err := s.queries.render("table_info.sql", nil)
	if err != nil {
		return nil, err
	}
	rows, err := s.conn.Query(ctx, query, named("database", database), named("names", names))
	if err != nil {
		return nil, fmt.Errorf("read system.tables: %w", err)
	}
	defer rows.Close()
	out := make(map[string]tableInfo)
	for rows.Next() {
		var name string
		var info tableInfo
		if err := rows.Scan(&name, &info.engine, &info.full, &info.views); err != nil {
			return nil, fmt.Errorf("read system.tables: %w", err)
		}
		out[name] = info
	}
	return out, rows.Err()
}

// checkWindows sees to it that every table which takes inserts under a token has
// its window: without one a resend would be stored twice.
func (s *Store) checkWindows(ctx context.Context) error {
	own := make([]string, 0, len(s.ddl.ttls))
	for name := range s.ddl.ttls {
		if name != "quality_hourly" { // recomputed, takes no token
			own = append(own, s.ddl.local(name))
		}
	}
	slices.Sort(own)
	if err := s.checkWindowsOf(ctx, s.ddl.database, own, ""); err != nil {
		return err
	}
	database, name := s.ddl.spansName("")
	names := []string{name, name + "_trace_id_ts"}
	if s.ddl.cluster != "" && !s.spansAreOthers(ctx) {
		names = []string{s.ddl.local(name), s.ddl.local(name + "_trace_id_ts")}
	}
	return s.checkWindowsOf(ctx, database, names, name)
}

// checkWindowsOf checks tables of one database. spans is the name of the spans
// table when it is among them: views of others on it are warned about.
func (s *Store) checkWindowsOf(ctx context.Context, database string, names []string, spans string) error {
	found, err := s.tableInfo(ctx, database, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		info, ok := found[name]
		if !ok {
			continue
		}
		if !strings.Contains(info.engine, "MergeTree") {
			s.log.Warn("cannot see the deduplication window of this table; set it on the tables behind it",
				"table", database+"."+name, "engine", info.engine, "settings", dedupSettings())
			continue
		}
		if hasWindow(info) {
			continue
		}
		statement := fmt.Sprintf("ALTER TABLE %s.%s%s MODIFY SETTING %s", quote(database), quote(name), s.ddl.onCluster(), dedupSettings())
		if err := s.conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("table %s.%s has no deduplication window, so that a resend would be stored twice, and it could not be set; run: %s: %w",
				database, name, statement, err)
		}
		s.log.Info("set the deduplication window", "table", database+"."+name)
	}
	if spans == "" {
		return nil
	}
	for _, view := range found[spans].views {
		if view != database+"."+spans+"_trace_id_ts_mv" {
			s.log.Warn("this view of the spans table feeds a table whose deduplication window Docket does not set: a resend may count twice in it",
				"view", view, "settings", dedupSettings())
		}
	}
	return nil
}

// hasWindow says whether the window that counts for the engine is large enough.
func hasWindow(info tableInfo) bool {
	if strings.HasPrefix(info.engine, "Replicated") || strings.HasPrefix(info.engine, "Shared") {
		return setting(info.full, "replicated_deduplication_window") >= dedupWindow &&
			setting(info.full, "replicated_deduplication_window_seconds") >= dedupSeconds
	}
	return setting(info.full, "non_replicated_deduplication_window") >= dedupWindow
}

// setting reads one number from the SETTINGS of an engine; 0 if it is not there.
func setting(full, name string) int {
	m := regexp.MustCompile(`[ ,]` + regexp.QuoteMeta(name) + ` = '?(\d+)`).FindStringSubmatch(full)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return n
}

// alignTTLs changes the TTL of our tables to what the settings say now. Parts
// that exist follow when they are merged; nothing is rewritten.
func (s *Store) alignTTLs(ctx context.Context) error {
	names := make([]string, 0, len(s.ddl.ttls))
	for name := range s.ddl.ttls {
		names = append(names, s.ddl.local(name))
	}
	found, err := s.tableInfo(ctx, s.ddl.database, names)
	if err != nil {
		return err
	}
	for name, want := range s.ddl.ttls {
		info, ok := found[s.ddl.local(name)]
		if !ok || strings.Contains(info.full, "TTL "+want+" ") {
			continue
		}
		if err := s.conn.Exec(ctx, s.ddl.alterTTL(name)); err != nil {
			return fmt.Errorf("change the TTL of %s: %w", name, err)
		}
		s.log.Info("changed when rows expire", "table", name, "ttl", want)
	}
	return nil
}
