// Package redact masks what must not be stored: the secrets of an exchange, and
// what the rules of the settings name.
//
// # Secrets
//
// Secrets belong to one exchange: the values of its credential headers and
// query parameters. They are masked in whatever is recorded of the exchange
// before it is written anywhere, in each form in which an upstream may echo
// them: as they are, escaped for JSON, and escaped for a URL. The client's bytes
// are never touched.
//
// Headers are kept by an allow-list, not cleaned by a block-list: a header that
// nobody thought of is left out.
//
// Values shorter than minSecret, and the usual placeholders for "no key", are not
// masked in bodies: they would hit ordinary text, and are no secrets worth the
// name.
//
// # Rules
//
// Rules (config.go) name values by pattern, by regular expression, or by JSON
// path. Filter.Body applies them to a whole body and keeps the rest of it byte
// for byte: everything that is found becomes an edit of the body, however many
// layers of escapes it was found through (view.go), and a value that is spread
// over the events of a stream an edit in each of them (edit.go). Filter.Text and
// Pieces do the same for texts.
//
// Which strings of a stream are pieces of one text is told by their path, and by
// the members with which APIs tell such texts apart (json.go). That is a guess
// about APIs; so the caller decodes what is left, applies Text to that, and does
// not keep the bytes when something was found that Body had missed.
//
// What is not understood is dropped, not passed: broken JSON, bytes that are no
// text, and whatever a search has a fault with (fence.go). At the end of what broke off, the beginning of a value counts as one
// (stream.go).
//
// Work is linear in the body, with a factor for each layer (maxNesting) and
// rule: detectors look a bounded way around a place, and regular expressions are
// RE2. Bodies come bounded.
//
// Rejected: one regular expression for all patterns (it cannot check digits),
// redacting the messages and encoding the body anew (it would not be what was
// sent), and a library for JSON paths (a body may be cut off, and what is not
// named has to stay byte for byte).
//
// # Limits
//
// Values in words, in pictures and sound, with other characters between, and
// rows of digits that may as well be ids, are not found.
package redact
