// Command docket runs Docket on one machine: the embedded ClickHouse (unless
// DOCKET_STORE or store.dsn names a server), the proxy and the evaluator, as
// child processes found beside its own binary.
//
//	docket run    with the settings of docket.yaml and the environment
//	docket demo   with a scripted upstream and a deterministic judge, no key
//
// A child that ends is named and stops the rest, except the engine, which is
// started again on the same port while recording goes on into the spool. A
// signal stops evaluator, proxy and engine in this order; data stays. Children
// get SIGTERM when the supervisor dies without a word, so nothing is orphaned.
//
// They are processes of their own, not goroutines, so that a crash or an
// out-of-memory kill of the engine cannot touch the client's traffic.
package main
