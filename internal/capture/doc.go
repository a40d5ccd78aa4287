// Package capture copies traffic aside while it passes, and later turns the
// copies into records.
//
// It has two halves that meet only in the spool.
//
// The Recorder stands on the path of a call. It copies the bytes of request and
// answer into pooled buffers and appends three kinds of records: begin before
// the call goes upstream, end before the bytes that complete the answer are
// released to the client, and done before that when the provider says in the
// stream that it has finished (clients stop reading there). Between these it
// does nothing but copy bytes and add up a checksum: it parses nothing, starts
// no work per chunk and never waits for memory. Whatever it cannot keep it
// counts, by reason.
//
// The Drainer reads the spool, decodes what ended and delivers it to the sink
// in batches. The edges of a batch are saved before it is sent for the first
// time, so that a resend after a crash has the same rows under the same token.
// An exchange becomes a row where its end record lies. One without an end
// becomes a row at the next boot record, which every start of a Recorder
// appends: complete when its done record is there, else as proxy_died. The rows
// of a batch are therefore a function of the spool alone.
// What a row's conversation is may also come from what is stored before it
// (conversations.go).
//
// The order of what is kept: the request body lies in the begin record when it
// is small and there in time, else in a request record that is appended before
// its last bytes go on, else (the upstream did not take all of it) in the end
// record. The answer lies in the done record as far as that goes, and in the
// end record from there on.
//
// Redaction. The rules of the settings are applied when a row is made, in
// addExchange and nowhere else (redact.go): bodies first, then what they say,
// then what the row has from elsewhere. Everything that leaves the drainer, to
// the sink, the exporter or quarantine, is made of that. Conversations are told
// by a keyed hash of what was said, or by what is left of it.
//
// Limits. Bodies of open exchanges are held in memory only up to max_body each
// and buffer_bytes together; one that outgrows max_body loses its long base64
// values first (elide.go), and its end only when that is not enough. The drainer holds positions of open exchanges, no
// bodies, and decodes about 16 MiB of raw bodies at a time. An exchange that
// stays open for long is copied out of the spool (carry.go). When the disk is so
// full that not even the edges of a batch can be saved, nothing is delivered
// until there is room: sending without them could store rows twice. A power cut
// may take the records of the last fsync interval, and with them the end of an
// exchange that was just stored; it is then stored again as proxy_died.
//
// Rejected: a queue in memory between the halves (it loses at a kill, and one
// bounded by count grows with the bodies), parsing on the path (half of all CPU
// with encoding/json on each chunk), compressing on the path, and one record
// per exchange at its end (a call in flight at a kill would leave no trace).
package capture
