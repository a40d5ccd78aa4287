// Package wire turns provider bytes into records: one normal form, whatever API
// they came through, with one file per API.
//
// It judges by what came back, not by what was asked: an event stream under
// text/plain, JSON under text/event-stream, an error inside a 200 and an HTML
// page from a load balancer are each taken for what they are.
//
// Guarantees:
//   - Decode never fails and never panics. What it does not understand stays
//     empty, and Undecodable says so when a known API is concerned.
//   - Nothing is invented or repaired: arguments of tool calls are the exact
//     text, counters that were not sent are nil, a reply that breaks off stays
//     as far as it came.
//   - Every string of a Decoded is valid UTF-8. Inline images, sound and files
//     are described by type, size and hash; their bytes are not copied.
//   - Work and memory are linear in the body: content encodings are removed up
//     to MaxDecoded, nesting is bounded, nothing is parsed twice.
//
// JSON is read by a small cursor of our own rather than encoding/json: it is
// several times faster on stream chunks, and it reads texts that are cut off,
// which is what a capture limit and a broken connection leave behind.
//
// Uploads (multipart bodies) and connections that left HTTP are not read: calls
// are named by their path, and what capture noted of the parts becomes an
// attribute.
//
// <think> tags inside a text are left there: no API documents them as anything
// but text.
package wire
