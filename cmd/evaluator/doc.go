// Command evaluator judges what the proxy recorded, and serves the page and the
// read API.
//
//	evaluator serve     judge what is captured, and serve (the default)
//	evaluator check     check the whole settings file, and how criteria are worded
//	evaluator judge     judge one conversation in a file, or print the request
//	evaluator try       judge recent traffic, cost first, and store nothing
//	evaluator explain   say of one inference what was judged and how, or why not
//	evaluator gate      fail when the pass rate of traffic is below a minimum
//	evaluator calibrate compare the judge with people: labels of a file or the page
//	evaluator backfill  judge what was recorded before
//	evaluator migrate   create and update the tables
//
// It starts and serves while the store is away, and judges as soon as the store
// is there. Several evaluators share the work by shards (evaluator.shards).
package main
