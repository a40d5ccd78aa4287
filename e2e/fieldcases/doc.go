// Package fieldcases runs every field case about capture (testdata/fieldcases)
// through the real proxy over real sockets, and reads the outcome back from the
// store through the read API.
//
// The cases are found by file name. An expectation that this package does not
// know, of whatever kind, fails its test: nothing is left out in silence.
package fieldcases
