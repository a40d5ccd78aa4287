// Package program runs built commands for end-to-end tests: each in a folder
// of its own, with a clean environment, until the test ends.
//
// A program whose log says that the race detector found something fails the
// test that started it, and a failed test shows the end of every log.
package program
