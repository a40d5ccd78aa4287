// Package record holds the plain values that cross a process or a table, and
// the attribute names that go with them. It has no behaviour beyond checking,
// printing and deriving ids, and imports only the standard library.
//
// Shapes follow two rules. A value that was not reported is absent (a nil
// pointer, an empty string), never zero by invention. Times are UTC with
// microseconds, the resolution of the tables.
package record
