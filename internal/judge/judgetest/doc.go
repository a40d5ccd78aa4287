// Package judgetest fakes judges over real HTTP, in every format that package
// judge speaks, and holds the behaviour suite that every backend must pass.
//
// A [Server] reads requests as strictly as the real servers do: it fails the
// test on a question without an id, a field that the format does not have, or
// judged content among the instructions. What it answers is given as values; it
// writes them in its format.
package judgetest
