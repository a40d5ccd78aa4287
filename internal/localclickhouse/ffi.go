package localclickhouse

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// handle is a pointer that C owns. It is kept as an integer, so that neither
// the garbage collector nor checkptr takes an interest in it.
type handle uintptr

// stateOK is CHDBSuccess, the value of chdb_state for a call that worked.
const stateOK = 0

// analysis mirrors chdb_query_analysis_v1.
type analysis struct {
	size  uint32
	count uint32 // executable statements in the text
	_     uint32 // flags, not looked at
	class uint32
}

// library holds the C functions of libchdb that this package uses. All of them
// may be called from any goroutine; one connection runs one statement at a
// time, which conn takes care of.
type library struct {
	path string

	version            func() string
	setSignalHandlers  func(enabled int32)
	connect            func(argc int32, argv **byte) *handle
	closeConn          func(conn *handle)
	shutdown           func() int32
	queryParams        func(conn handle, q *byte, qn uintptr, format *byte, fn uintptr, names **byte, nameLens *uintptr, values **byte, valueLens *uintptr, n uintptr) handle
	streamParams       func(conn handle, q *byte, qn uintptr, format *byte, fn uintptr, names **byte, nameLens *uintptr, values **byte, valueLens *uintptr, n uintptr) handle
	streamFetch        func(conn, result handle) handle
	streamCancel       func(conn, result handle)
	destroyResult      func(result handle)
	resultBuffer       func(result handle) unsafe.Pointer
	resultLength       func(result handle) uintptr
	resultError        func(result handle) string
	resultRowsWritten  func(result handle) uint64
	resultBytesWritten func(result handle) uint64
	insertParams       func(conn handle, q *byte, qn uintptr, format *byte, fn uintptr, names **byte, nameLens *uintptr, values **byte, valueLens *uintptr, n uintptr) handle
	insertAppend       func(stream handle, data *byte, n uintptr) int32
	insertDone         func(stream handle) handle
	insertError        func(stream handle) string
	insertDestroy      func(stream handle)
	classify           func(conn handle, sql *byte, n uintptr, database *byte, dn uintptr, out *analysis) int32
}

// loadLibrary maps the library at path and resolves its functions. It changes
// no signal handler: that is the first thing an engine does with it.
func loadLibrary(path string) (*library, error) {
	so, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", path, err)
	}
	lib := &library{path: path}
	for name, fn := range lib.symbols() {
		sym, err := purego.Dlsym(so, name)
		if err != nil {
			return nil, fmt.Errorf("load %s: it is not a libchdb of %s or later: %w", path, minVersion, err)
		}
		purego.RegisterFunc(fn, sym)
	}
	return lib, nil
}

// symbols pairs the names in the C header with the fields they fill.
func (l *library) symbols() map[string]any {
	return map[string]any{
		"chdb_version":                     &l.version,
		"chdb_set_signal_handlers_enabled": &l.setSignalHandlers,
		"chdb_connect":                     &l.connect,
		"chdb_close_conn":                  &l.closeConn,
		"chdb_shutdown":                    &l.shutdown,
		"chdb_query_with_params_n":         &l.queryParams,
		"chdb_stream_query_with_params_n":  &l.streamParams,
		"chdb_stream_fetch_result":         &l.streamFetch,
		"chdb_stream_cancel_query":         &l.streamCancel,
		"chdb_destroy_query_result":        &l.destroyResult,
		"chdb_result_buffer":               &l.resultBuffer,
		"chdb_result_length":               &l.resultLength,
		"chdb_result_error":                &l.resultError,
		"chdb_result_rows_written":         &l.resultRowsWritten,
		"chdb_result_bytes_written":        &l.resultBytesWritten,
		"chdb_stream_insert_with_params_n": &l.insertParams,
		"chdb_stream_append":               &l.insertAppend,
		"chdb_stream_done":                 &l.insertDone,
		"chdb_stream_insert_error":         &l.insertError,
		"chdb_destroy_insert_stream":       &l.insertDestroy,
		"chdb_classify_query_n":            &l.classify,
	}
}
