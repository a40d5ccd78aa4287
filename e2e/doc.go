// Package e2e drives the built programs as a user would: unmodified client SDKs
// through the proxy against a scripted upstream, read back over the read API
// and in a real browser. It has no code of its own to import.
package e2e
