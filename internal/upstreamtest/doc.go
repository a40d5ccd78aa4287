// Package upstreamtest plays a model API byte by byte over raw sockets.
//
// A test decides every byte, pause and cut, and sees every byte that came.
// net/http/httptest was not used: it adds fields, frames answers and reads
// requests on its own, and a transparency test is about just those.
package upstreamtest
