// Package redact masks what must not be stored.
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
package redact
