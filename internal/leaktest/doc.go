// Package leaktest fails a test binary whose goroutines do not end.
//
// It is goleak with patience: goleak itself waits for less than half a second,
// which on a busy machine is not enough for goroutines that are on their way to
// their end.
package leaktest
