package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"docket/internal/record"
)

// ErrNotFound says that nothing with the given id is stored.
var ErrNotFound = record.ErrNotFound

// Store is a connection pool to one ClickHouse database. It is safe for use by
// many goroutines.
type Store struct {
	conn driver.Conn
	opts *clickhouse.Options
	cfg  Config
	log  *slog.Logger
	ddl  ddl

	queries queries

	migrating chan struct{} // holds a token while nobody migrates; guards migrated
	migrated  bool
}

const idleTimeout = 30 * time.Second

// Open prepares a store. It does not dial: the server may be down or have no
// database yet. Ping asks whether it answers.
func Open(_ context.Context, cfg Config, log *slog.Logger) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	opts, err := parseDSN(cfg.DSN)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if opts.DialTimeout == 0 {
		opts.DialTimeout = 5 * time.Second
	}
	if opts.MaxOpenConns == 0 {
		opts.MaxOpenConns = cfg.MaxConns
	}
	if opts.MaxIdleConns == 0 {
		opts.MaxIdleConns = max(opts.MaxOpenConns/2, 1)
	}
	// An insert's encoded block would otherwise stay with its connection.
	opts.FreeBufOnConnRelease = true
	// The driver leaves the connection of a refused handshake open until it has
	// been idle for long; a store that is retried would gather them.
	opts.TransportFunc = func(t *http.Transport) (http.RoundTripper, error) {
		t.IdleConnTimeout = idleTimeout
		return discreet{t}, nil
	}
	opts.ClientInfo.Products = append(opts.ClientInfo.Products, struct{ Name, Version string }{"docket", "1"})
	conn, err := clickhouse.Open(opts)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	q, err := loadQueries()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store: %w", err), conn.Close())
	}
	s := &Store{
		conn: conn, opts: opts, cfg: cfg, log: log,
		ddl:       newDDL(cfg, opts.Auth.Database),
		queries:   q,
		migrating: make(chan struct{}, 1),
	}
	s.migrating <- struct{}{}
	return s, nil
}

// Ping asks the server whether it answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.conn.Ping(ctx); err != nil {
		return fmt.Errorf("ping store: %w", err)
	}
	return nil
}

// Close closes all connections.
func (s *Store) Close() error { return s.conn.Close() }

// ready migrates before the first write, so that a command may start while the
// server is down.
func (s *Store) ready(ctx context.Context) error {
	if !s.cfg.AutoMigrate {
		return nil
	}
	if err := s.lockMigration(ctx); err != nil {
		return err
	}
	defer s.unlockMigration()
	if s.migrated {
		return nil
	}
	return s.migrateLocked(ctx)
}

// lockMigration waits until nobody migrates, but no longer than ctx: a store
// that hangs must not hold up those who have a time limit.
func (s *Store) lockMigration(ctx context.Context) error {
	select {
	case <-s.migrating:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the migration of the store: %w", ctx.Err())
	}
}

func (s *Store) unlockMigration() { s.migrating <- struct{}{} }
