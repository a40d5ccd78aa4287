package proxy

import (
	"net/http"
	"unsafe"
)

// net/http puts "Cache-Control: no-cache" into a message that has
// "Pragma: no-cache" and no Cache-Control of its own, on both sides.
const pragmaValue = "no-cache"

// dropInventedCacheControl removes that field again. A value that came over the
// wire is a fresh string; the invented one is the constant of net/http, which
// the linker keeps once for the whole program, so that its address tells. If a
// toolchain ever keeps two, the field stays, and a test fails.
func dropInventedCacheControl(h http.Header) {
	if len(h["Pragma"]) == 0 {
		return
	}
	v := h["Cache-Control"]
	if len(v) == 1 && v[0] == pragmaValue && unsafe.StringData(v[0]) == unsafe.StringData(pragmaValue) {
		delete(h, "Cache-Control")
	}
}
