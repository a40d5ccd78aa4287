package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"docket/internal/store"
)

// storeFlag adds the flag of commands that read the store.
func storeFlag(flags *flag.FlagSet) *string {
	return flags.String("store", "", "DSN of ClickHouse (store.dsn)")
}

// loadAndOpen reads the settings and opens the store for a command that ends by
// itself: the store must answer now.
func loadAndOpen(ctx context.Context, config, dsn string, getenv func(string) string, stdout io.Writer) (*settings, *store.Store, error) {
	s, err := load(config, overlay(getenv, map[string]string{"DOCKET_STORE_DSN": dsn}))
	if err != nil {
		return nil, nil, err
	}
	db, err := openStore(ctx, s, stdout)
	return s, db, err
}

func openStore(ctx context.Context, s *settings, stdout io.Writer) (*store.Store, error) {
	db, err := store.Open(ctx, s.store, warnings(stdout))
	if err != nil {
		return nil, err
	}
	if s.store.AutoMigrate {
		err = db.Migrate(ctx)
	} else {
		err = db.Ping(ctx)
	}
	if err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("store.dsn (DOCKET_STORE): %w%s", err, storeHint(s.store.DSN))
	}
	return db, nil
}

// storeHint says where the address is to be found when nobody named a store.
func storeHint(dsn string) string {
	if dsn != store.DefaultConfig().DSN {
		return ""
	}
	return "; no store is set, so this is the default: while make run is running, the address is in data/clickhouse.port and the password in data/clickhouse/password"
}
