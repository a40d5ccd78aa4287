// Command evaluator judges what the proxy recorded, and serves the page and the
// read API.
//
//	evaluator serve     judge what is captured, and serve (the default)
//	evaluator check     check the whole settings file
//	evaluator migrate   create and update the tables
//
// It starts and serves while the store is away, and judges as soon as the store
// is there. Several evaluators share the work by shards (evaluator.shards).
package main
