package store

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// ErrSchema says that the database was made by a program that does not fit this
// one: trying again does not help.
var ErrSchema = errors.New("database and program do not fit")

func schemaError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrSchema}, args...)...)
}

// RefusedError says that the server will never take these rows as they are.
type RefusedError struct {
	Table string
	Rows  int
	Err   error
}

// Error names the table and what the server said.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("insert %s (n=%d) refused: %v", e.Table, e.Rows, e.Err)
}

// Unwrap returns what the server said.
func (e *RefusedError) Unwrap() error { return e.Err }

// Refused is true: callers that do not import this package match on it.
func (e *RefusedError) Refused() bool { return true }

// insertError wraps the error of an insert by whether sending the same rows
// again may help.
func insertError(table string, rows int, err error) error {
	if err == nil {
		return nil
	}
	if refused(err) {
		return &RefusedError{Table: table, Rows: rows, Err: err}
	}
	return fmt.Errorf("insert %s (n=%d): %w", table, rows, err)
}

// refused tells errors about the rows from errors about the server, the network
// or the schema. In doubt an error is not about the rows: they are retried.
func refused(err error) bool {
	if errors.Is(err, clickhouse.ErrBatchInvalid) {
		return true // the driver could not encode a value
	}
	var ex *clickhouse.Exception
	if errors.As(err, &ex) {
		return refusedCode(ex.Code)
	}
	var he *clickhouse.HTTPError
	return errors.As(err, &he) && he.StatusCode == http.StatusRequestEntityTooLarge
}

// refusedCode lists the server's errors about values.
func refusedCode(code int32) bool {
	switch code {
	case 6, // CANNOT_PARSE_TEXT
		25,  // CANNOT_PARSE_ESCAPE_SEQUENCE
		26,  // CANNOT_PARSE_QUOTED_STRING
		27,  // CANNOT_PARSE_INPUT_ASSERTION_FAILED
		38,  // CANNOT_PARSE_DATE
		41,  // CANNOT_PARSE_DATETIME
		43,  // ILLEGAL_TYPE_OF_ARGUMENT
		53,  // TYPE_MISMATCH
		69,  // ARGUMENT_OUT_OF_BOUND
		70,  // CANNOT_CONVERT_TYPE
		72,  // CANNOT_PARSE_NUMBER
		117, // INCORRECT_DATA
		128, // TOO_LARGE_ARRAY_SIZE
		131, // TOO_LARGE_STRING_SIZE
		190, // SIZES_OF_ARRAYS_DONT_MATCH
		321, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
		349, // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
		376, // CANNOT_PARSE_UUID
		407, // DECIMAL_OVERFLOW
		467, // CANNOT_PARSE_BOOL
		469, // VIOLATED_CONSTRAINT
		691: // UNKNOWN_ELEMENT_OF_ENUM
		return true
	}
	return false
}

// ErrNoTables says that the database or its tables are not there yet.
var ErrNoTables = errors.New("the tables are not there yet: they are made when the evaluator starts, or by evaluator migrate")

// readError shortens the error of a read: the server's text about a missing
// table quotes the whole statement, which tells nobody anything.
func readError(err error) error {
	const unknownTable, unknownDatabase = 60, 81
	if code := exceptionCode(err); code == unknownTable || code == unknownDatabase {
		return ErrNoTables
	}
	return err
}

// exceptionCode returns the server's error code, 0 if err is none.
func exceptionCode(err error) int32 {
	var ex *clickhouse.Exception
	if errors.As(err, &ex) {
		return ex.Code
	}
	return 0
}

// discreet keeps what is bound to a statement out of errors: the driver sends
// it in the URL of a request, and net/http writes the URL of one that broke off
// into its error. Names of users and texts that were searched would end up in
// logs.
type discreet struct{ *http.Transport }

// RoundTrip sends a copy, since the transport may still read its request when
// it gives up. The URL of the original is by then only good for the error.
func (d discreet) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.Transport.RoundTrip(r.Clone(r.Context()))
	if err != nil {
		r.URL.RawQuery = ""
	}
	return resp, err
}
