package capture

import (
	"context"

	"docket/internal/record"
)

// Spool is the disk queue between recorder and drainer. All methods are safe
// to call at the same time.
type Spool interface {
	// ID is random per spool folder and stays with it.
	ID() string

	// Append writes one record and returns where it starts. The parts are not
	// kept after it returns. An error with a method Stalled() bool that says
	// true means that the record waits in bounded memory and will be written;
	// one with Full() bool that says true, that there is no room, and with
	// DiskFull() bool as well, that it is the disk that has none.
	Append(ctx context.Context, kind byte, parts ...[]byte) (record.Position, error)

	// AppendReserved is Append that may use a small reserve above the quota.
	AppendReserved(ctx context.Context, kind byte, parts ...[]byte) (record.Position, error)

	// Reader starts at from, or at the oldest record when from is before it.
	Reader(from record.Position) (SpoolReader, error)

	// ReadAt returns the record that starts at a position. The caller owns
	// the data. An error with the method Corrupt, or fs.ErrNotExist, says that
	// it is lost, any other error that it may be read later.
	ReadAt(record.Position) (record.SpoolRecord, error)

	// Acked is the position up to which everything was delivered.
	Acked() record.Position

	// Ack says that everything before pos was delivered, and that nothing
	// before keepFrom will be read again.
	Ack(pos, keepFrom record.Position) error

	// SaveMeta replaces a small file for good before it returns. LoadMeta
	// returns nil data when there is none.
	SaveMeta(name string, data []byte) error
	LoadMeta(name string) ([]byte, error)
	RemoveMeta(name string) error

	// Quarantine keeps what the sink refuses for good. The same name again
	// replaces it.
	Quarantine(name string, data []byte) error

	// BacklogBytes is how much lies between Acked and the end.
	BacklogBytes() int64
}

// SpoolReader reads records in order.
type SpoolReader interface {
	// Next blocks until there is a record or ctx ends; a record that is there
	// is returned even if ctx has ended. Its data is valid until the next
	// call. A corrupt stretch is reported once, as an error with a method
	// Corrupt() (pos, end record.Position), and then skipped.
	Next(ctx context.Context) (record.SpoolRecord, error)
	Close() error
}

// Sink stores batches: package store.
type Sink interface {
	// Write returns nil when the whole batch is durable. The same batch may
	// come again under the same token and must then change nothing. An error
	// with a method Refused() bool that says true means that this batch will
	// never be accepted as it is; after any other error it comes again.
	// The batch belongs to the caller and is not kept.
	Write(ctx context.Context, b record.Batch) error
}

// SpanExporter sends spans to an OTLP receiver, as well as it can.
type SpanExporter interface {
	ExportSpans(ctx context.Context, spans []record.Span) error
}
