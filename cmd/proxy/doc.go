// Command proxy forwards model calls and records them.
//
// It reads the sections proxy, capture and store of the settings, opens the
// spool, and serves at once: ClickHouse may be down, or come later. What is
// recorded waits in the spool, and is delivered, in order and exactly once, as
// soon as ClickHouse takes it.
//
// A stop lets running calls finish (proxy.shutdown_timeout), then delivers what
// is in the spool (capture.shutdown_drain). What is left is delivered after the
// next start.
package main
