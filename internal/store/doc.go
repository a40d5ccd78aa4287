// Package store keeps what Docket records in ClickHouse: migrations, batched
// writes, reads.
//
// # Exactly once
//
// A batch may be sent any number of times; its rows are stored once. This rests
// on five things, each of which is needed:
//
//   - The rows of a batch and its token never change over resends.
//   - Each insert carries a token: batch token, table, first day and chunk. Rows
//     are grouped by day (at most 50 days) and cut by their sizes, so an insert
//     has the same rows on a resend.
//   - Every table that takes tokens, and every table that a materialized view
//     feeds from one, has an explicit deduplication window. Migrate checks it,
//     also on tables that others made.
//   - Inserts set deduplicate_blocks_in_dependent_materialized_views.
//   - A resend of a batch that was first sent long ago may have left the window.
//     It is compared with what is stored by id, and only what is missing is sent;
//     candidates, and traces in the index of traces, that a failed view left out
//     are put in.
//
// Bodies go first, then spans, then inferences: who finds an inference finds its
// body. Gaps carry an id and are deduplicated when read.
//
// Limit: when a view failed and its batch left the window before the resend,
// traffic_hourly may lack those rows, as a sum has no ids to compare.
//
// # Odd values
//
// No value of a record can make an insert fail. Text is made valid UTF-8 and cut
// on a rune at 64 KiB (NUL stays); raw bodies are stored as they are, in String
// columns. A time outside 1970-01-02 to 2105-12-31 is replaced by the time in the
// UUIDv7 of the inference, else by the time the batch was first sent; attribute
// docket.original_time keeps the original.
//
// Rows expire by the time they were inserted, not by their own time, so a late
// row is kept as long as any other. Only spans follow the exporter's layout,
// which has no insertion time: a span older than span_ttl may vanish at once; its
// inference does not.
//
// # Deletion
//
// Delete removes all rows of a user or a conversation by mutations that rewrite
// the parts; a lightweight delete would only hide the rows. Which tables hold
// something of somebody is one list (holders), and a test fails for a table that
// is neither on it nor known to hold nothing of anybody. A hash of the id of each
// deleted call is kept for as long as calls are, so that neither a late resend
// nor an evaluator that was at work brings rows back.
//
// # Errors
//
// A *RefusedError will not go away by sending the same rows again: a value or a
// size that the server refuses. All other errors may.
//
// # Decisions
//
// Ids are String columns: they sort as they read, any id can be stored, and hex
// compresses to the size of a UUID column. Outcomes and states are
// LowCardinality(String), not Enum: an unknown value must not refuse an insert
// while two versions run side by side.
//
// Lookups by id use projections that hold only the id and the row offset: their
// cost grows with the logarithm of a part, where a bloom filter is read for
// every granule.
//
// Lists are read newest first over growing windows of time, so that a page costs
// what it shows and not what is stored.
//
// Columns are declared once, in table_*.go; inserts, reads and tests derive from
// that. Struct tags with AppendStruct were slower and could not convert.
//
// In a cluster each table is a replicated <name>_local and a Distributed <name>;
// views feed local tables. That its statements parse is tested, a run on a
// cluster is not.
package store
