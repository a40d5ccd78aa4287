// Package upstreamtest plays a model API: byte by byte over raw sockets for
// tests, and as a scripted chat model for the demo.
//
// Server speaks through raw connections, so that a test decides every byte,
// pause and cut, and sees every byte that came. Script is an http.Handler in
// the form of OpenAI's chat completions, with JSON and streamed answers, tool
// calls, errors, slow and broken streams.
//
// net/http/httptest was not used for the first: it adds fields, frames answers
// and reads requests on its own, and a transparency test is about just those.
package upstreamtest
