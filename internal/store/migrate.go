package store

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

//go:embed spans/*.sql
var spanFiles embed.FS

// bookkeeping is the statement that makes the table of applied migrations.
const bookkeeping = "schema_migrations.sql"

// migration is one numbered statement. Its sum covers the template, so that
// settings may change without changing it.
type migration struct {
	version uint32
	name    string
	source  string
	sum     string
}

// Migrate makes the database and brings its tables up to date. Every statement
// may run twice, so two programs that start together do no harm. A database that
// a newer program has changed is refused.
func (s *Store) Migrate(ctx context.Context) error {
	if err := s.lockMigration(ctx); err != nil {
		return err
	}
	defer s.unlockMigration()
	return s.migrateLocked(ctx)
}

func (s *Store) migrateLocked(ctx context.Context) error {
	if err := s.createDatabase(ctx); err != nil {
		return err
	}
	known, err := loadMigrations(migrationFiles)
	if err != nil {
		return err
	}
	if err := s.applyAll(ctx, known); err != nil {
		return err
	}
	if err := s.createSpans(ctx); err != nil {
		return err
	}
	if err := s.checkWindows(ctx); err != nil {
		return err
	}
	if err := s.alignTTLs(ctx); err != nil {
		return err
	}
	s.migrated = true
	return nil
}

// loadMigrations reads the numbered files in order.
func loadMigrations(files fs.FS) ([]migration, error) {
	paths, err := fs.Glob(files, "migrations/[0-9]*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	out := make([]migration, 0, len(paths))
	for i, path := range paths {
		base := strings.TrimSuffix(strings.TrimPrefix(path, "migrations/"), ".sql")
		number, name, ok := strings.Cut(base, "_")
		version, err := strconv.ParseUint(number, 10, 32)
		if !ok || err != nil || int(version) != i+1 {
			return nil, fmt.Errorf("migration %s: want number %04d and a name", path, i+1)
		}
		source, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(source)
		out = append(out, migration{uint32(version), name, string(source), hex.EncodeToString(sum[:])})
	}
	return out, nil
}

// createDatabase makes the database of the DSN if it is missing.
func (s *Store) createDatabase(ctx context.Context) error {
	const unknownDatabase = 81
	err := s.conn.Ping(ctx)
	if err == nil {
		return nil
	}
	if exceptionCode(err) != unknownDatabase {
		return fmt.Errorf("migrate store: %w", err)
	}
	opts := *s.opts
	opts.Auth.Database = "default"
	conn, err := clickhouse.Open(&opts)
	if err != nil {
		return fmt.Errorf("migrate store: %w", err)
	}
	defer conn.Close()
	name := s.opts.Auth.Database
	if err := conn.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+quote(name)+s.ddl.onCluster()); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// appliedRow is a migration that was applied.
type appliedRow struct {
	Version  uint32
	Name     string
	Checksum string
	Cluster  string
}

func applied() table[appliedRow] {
	type R = appliedRow
	return table[R]{
		name: "schema_migrations",
		columns: []column[R]{
			field("version", "UInt32", func(r *R) *uint32 { return &r.Version }),
			text("name", func(r *R) *string { return &r.Name }),
			text("checksum", func(r *R) *string { return &r.Checksum }),
			text("cluster", func(r *R) *string { return &r.Cluster }),
		},
	}
}

// applyAll checks what was applied before and applies the rest.
func (s *Store) applyAll(ctx context.Context, known []migration) error {
	if err := s.execFile(ctx, migrationFiles, "migrations/"+bookkeeping); err != nil {
		return err
	}
	if err := s.execDDL(ctx, s.ddl.distributed("schema_migrations", "version"), "schema_migrations"); err != nil {
		return err
	}
	rows, err := selectRows(ctx, s, applied(), "applied.sql", nil)
	if err != nil {
		return err
	}
	done := make(map[uint32]bool, len(rows))
	for _, row := range rows {
		if err := s.checkApplied(row, known); err != nil {
			return err
		}
		done[row.Version] = true
	}
	for _, m := range known {
		if done[m.version] {
			continue
		}
		if err := s.apply(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) checkApplied(row appliedRow, known []migration) error {
	if int(row.Version) > len(known) {
		return schemaError("database %s is at migration %04d_%s, this program knows only %04d: it is older than the database; update it",
			s.opts.Auth.Database, row.Version, row.Name, len(known))
	}
	if row.Version == 0 {
		return schemaError("database %s has a migration 0: it is not Docket's", s.opts.Auth.Database)
	}
	if m := known[row.Version-1]; m.sum != row.Checksum {
		return schemaError("database %s: migration %04d was applied as %s with checksum %.12s, this program has %s with %.12s: they are different builds",
			s.opts.Auth.Database, row.Version, row.Name, row.Checksum, m.name, m.sum)
	}
	if row.Cluster != s.ddl.cluster {
		return schemaError("database %s was made with store.cluster %q, now it is %q: its tables cannot be turned into one another; use a new database",
			s.opts.Auth.Database, row.Cluster, s.ddl.cluster)
	}
	return nil
}

func (s *Store) apply(ctx context.Context, m migration) error {
	statement, err := s.ddl.render(m.source)
	if err != nil {
		return fmt.Errorf("migration %04d_%s: %w", m.version, m.name, err)
	}
	if err := s.execDDL(ctx, statement, fmt.Sprintf("migration %04d_%s", m.version, m.name)); err != nil {
		return err
	}
	row := appliedRow{Version: m.version, Name: m.name, Checksum: m.sum, Cluster: s.ddl.cluster}
	if err := insertChunk(ctx, s, applied(), "migration:"+m.sum, []appliedRow{row}); err != nil {
		return fmt.Errorf("note migration %04d_%s: %w", m.version, m.name, err)
	}
	s.log.Debug("applied a migration", "version", m.version, "name", m.name)
	return nil
}

// createSpans makes the spans tables unless they exist. They are not numbered:
// their layout is the exporter's and their name a setting.
func (s *Store) createSpans(ctx context.Context) error {
	paths, err := fs.Glob(spanFiles, "spans/*.sql")
	if err != nil {
		return err
	}
	slices.Sort(paths)
	if s.spansAreOthers(ctx) {
		paths = nil
	}
	for _, path := range paths {
		if err := s.execFile(ctx, spanFiles, path); err != nil {
			return err
		}
	}
	return nil
}

// spansAreOthers says whether the spans table exists without our local table in
// a cluster: then someone else made it, and it is used as it is.
func (s *Store) spansAreOthers(ctx context.Context) bool {
	if s.ddl.cluster == "" {
		return false
	}
	database, name := s.ddl.spansName("")
	found, err := s.tableInfo(ctx, database, []string{name, s.ddl.local(name)})
	return err == nil && found[name].engine != "" && found[s.ddl.local(name)].engine == ""
}

func (s *Store) execFile(ctx context.Context, files fs.FS, path string) error {
	source, err := fs.ReadFile(files, path)
	if err != nil {
		return err
	}
	statement, err := s.ddl.render(string(source))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return s.execDDL(ctx, statement, path)
}

// execDDL runs one statement; an empty one is nothing to do.
func (s *Store) execDDL(ctx context.Context, statement, what string) error {
	if statement == "" {
		return nil
	}
	if err := s.conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
