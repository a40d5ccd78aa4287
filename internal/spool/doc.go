// Package spool is a bounded, crash-safe disk queue of opaque records.
package spool
