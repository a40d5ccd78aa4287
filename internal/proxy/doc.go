// Package proxy forwards a request upstream and streams the answer back.
//
// What passes unchanged, both ways: method, request target after the routed
// prefix, status code, body bytes, trailers, interim (1xx) answers, the timing
// of events, and every end-to-end field with all its values in order. No field
// is added. The closed list of differences:
//
//   - HTTP framing (chunked or Content-Length, Content-Length: 0 on methods
//     that rarely have a body), and what only HTTP/1.0 needs
//   - letter case and order of field names, the reason phrase
//   - Host
//   - hop-by-hop fields (Connection and what it names, Keep-Alive, TE, Upgrade,
//     Proxy-*)
//   - traceparent and tracestate, which are ours (propagate: off keeps the
//     client's)
//   - Docket-* fields, which are removed
//   - what a route's settings add, remove or replace, such as the key
//     (credential.go), and gateway keys, which are removed (gatewaykey.go)
//   - 100 Continue, which we say where the upstream says nothing
//   - where HTTP/2 is spoken: Cookie fields are joined or cut, an upstream gets
//     one User-Agent that is not empty, and trailers that a client did not
//     announce and the fields of a 100 Continue are lost
//
// What arrived before a cut reaches the client, status included, and then the
// cut itself: the handler aborts with http.ErrAbortHandler, which must reach
// net/http. A request goes upstream once. It is sent again only if no byte of
// it was written to the connection that failed.
//
// # Decisions
//
// httputil.ReverseProxy does the forwarding. Its habits and those of net/http
// that would show are undone, one file each: request.go (target, query, fields,
// trailers), writer.go (Date, Content-Type, flushing), body.go (request bodies
// that are not read to their end, Expect), conn.go (replays, connections that
// died while idle), pragma.go.
//
// Routed prefixes are matched on the raw request target, before gin's router:
// gin answers odd methods with 404, redirects paths and swallows 1xx answers.
//
// Clients speak HTTP/1.1 or HTTP/2. TLS is taken off by our own listener, so
// that net/http sees one kind of connection (clientconn.go): there its own words
// about requests that reach no handler are put into the form of our errors. The
// same handler serves both protocols; http.ErrAbortHandler, which cuts a
// connection of HTTP/1.1, resets a stream of HTTP/2.
//
// A head waits up to a millisecond for its body, in both directions, so that a
// small message is one write instead of two; that is a tenth of a JSON call's
// CPU time. A streamed answer's head does not wait.
//
// There is one timer per exchange, which moves from phase to phase: connect,
// sending, response header, first byte, idle. There is no limit on the whole.
// While sending and in between reads, timeouts.idle also ends what a client
// keeps waiting.
//
// An https upstream is spoken to in HTTP/2 if it offers that (versions.go). Its
// connection is shared: that it was closed while idle is looked for before each
// call, and a request is sent again only if the upstream said that it did not
// process it (roundtrip.go).
//
// Where the settings have a key for an upstream, it replaces every credential of
// the client, in whatever field: which of them a client fills says nothing about
// whom it is for. A gateway key may come in the same fields, since SDKs have no
// other place for one; it is known by its hash, and removed wherever it stands,
// so that it goes upstream under no settings. Refusing settings in which a client
// could have no credential left was rejected: servers of one's own ask for none.
//
// Presets (preset.go) are data. What an API is called in its own base URL before
// the version is the prefix's to replace, so that one rule fits all of them.
//
// A connection that leaves HTTP (101 Switching Protocols) is passed on by our own
// loop (tunnel.go): that of ReverseProxy loses what a client sent ahead. The
// call upstream is always one of HTTP/1.1 then.
//
// With inject_usage an upstream is asked for the usage of a stream
// (usage.go), and the event that answers is taken out of the client's copy
// behind what records it (usagefilter.go). That is the one place where bodies
// differ.
//
// # Limits
//
// net/http answers 400 to a target whose path has a broken percent escape (over
// HTTP/2 it resets the stream) and 417 to an Expect other than 100-continue;
// those never get here. It tells HTTP/2 by its first 24 bytes: a client that
// sends fewer and then waits is answered after read_header_timeout. WebSocket
// over HTTP/2 (RFC 8441) is not offered. TRACE without
// a body is the one method net/http could replay unseen, and conn.go stops
// that too.
package proxy
