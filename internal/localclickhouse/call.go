package localclickhouse

import (
	"runtime"
	"unsafe"
)

// param is one value of a {name:Type} placeholder, in the engine's text form.
type param struct{ name, value string }

// statementArgs holds the Go memory that one C call reads: text and parameters, each
// with its length, so that NUL bytes pass. Nothing of it may be freed before
// release.
type statementArgs struct {
	pin       runtime.Pinner
	sql       *byte
	sqlLen    uintptr
	format    *byte
	formatLen uintptr
	names     []*byte
	nameLens  []uintptr
	values    []*byte
	valueLens []uintptr
}

func newStatementArgs(sql, format string, params []param) *statementArgs {
	a := &statementArgs{}
	a.sql, a.sqlLen = a.bytes(sql)
	a.format, a.formatLen = a.bytes(format)
	for _, p := range params {
		name, nameLen := a.bytes(p.name)
		value, valueLen := a.bytes(p.value)
		a.names, a.nameLens = append(a.names, name), append(a.nameLens, nameLen)
		a.values, a.valueLens = append(a.values, value), append(a.valueLens, valueLen)
	}
	if len(params) > 0 {
		a.pin.Pin(&a.names[0])
		a.pin.Pin(&a.nameLens[0])
		a.pin.Pin(&a.values[0])
		a.pin.Pin(&a.valueLens[0])
	}
	return a
}

// bytes copies s with a closing NUL, which the length leaves out.
func (a *statementArgs) bytes(s string) (*byte, uintptr) {
	b := make([]byte, len(s)+1)
	copy(b, s)
	a.pin.Pin(&b[0])
	return &b[0], uintptr(len(s))
}

// call runs fn, one of the three library functions that take a statement.
func (a *statementArgs) call(conn handle, fn func(handle, *byte, uintptr, *byte, uintptr, **byte, *uintptr, **byte, *uintptr, uintptr) handle) handle {
	defer a.pin.Unpin()
	n := uintptr(len(a.names))
	return fn(conn, a.sql, a.sqlLen, a.format, a.formatLen,
		unsafe.SliceData(a.names), unsafe.SliceData(a.nameLens),
		unsafe.SliceData(a.values), unsafe.SliceData(a.valueLens), n)
}

// cStrings copies args into an argv for C.
func cStrings(args []string) (argv []*byte, unpin func()) {
	var pin runtime.Pinner
	for _, s := range args {
		b := append([]byte(s), 0)
		pin.Pin(&b[0])
		argv = append(argv, &b[0])
	}
	argv = append(argv, nil)
	pin.Pin(&argv[0])
	return argv, pin.Unpin
}

// result is one answer of the engine: bytes in its memory.
type result struct {
	lib *library
	h   handle
}

// data is valid until close.
func (r result) data() []byte {
	n := r.lib.resultLength(r.h)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(r.lib.resultBuffer(r.h)), n)
}

func (r result) err() error {
	if r.h == 0 {
		return &Exception{Code: codeLogical, Message: "the engine gave no answer", Name: "LOGICAL_ERROR"}
	}
	return parseException(r.lib.resultError(r.h))
}

func (r result) close() {
	if r.h != 0 {
		r.lib.destroyResult(r.h)
	}
}
