// Package storetest gives tests a ClickHouse.
//
// DSN returns a fresh database, which is dropped when the test ends. The first
// call in a test binary builds cmd/localclickhouse and starts it as a child
// process, so that a test binary under the race detector never hosts the
// engine; all tests of the binary share it. The child ends when the test binary
// does, even when that is killed, and removes its data.
//
// With DOCKET_TEST_STORE set to an http:// DSN that server is used instead. A
// missing engine fails the test, with the line that installs it; nothing is
// skipped.
package storetest
