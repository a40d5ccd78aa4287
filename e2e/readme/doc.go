// Package readme checks that README.md and docket.example.yaml say what the
// code does. It needs only Go.
package readme
