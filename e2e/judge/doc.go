// Package judge tries the judge against software that others wrote: models
// whose weights come inside a package, served by their own servers on loopback;
// the public conformance suite of System One; and the official client libraries
// of both decision formats. It has no code of its own to import.
//
// Three things are proved here, each by a test.
//
// Real traffic is judged by real models. A client library calls through the
// proxy, the evaluator samples what was captured and asks two models:
// sparrow-decider, a decision model of two megabytes that serves System One
// itself, and SmolLM2 with 135 million parameters, served by the OpenAI server
// of llama-cpp-python, which gives log-probabilities. A recorder between the
// evaluator and each model keeps what was said, and every stored probability is
// worked out again from that. Such small models judge badly; that is not looked
// at.
//
// The System One client is held to the conformance suite's reference server,
// and to each of the faults that the server can be given: what a fault makes
// unreadable is inconclusive, and never a score. The fake that other tests use
// is held to the suite itself.
//
// The requests of both decision formats are those of the official libraries for
// the same content, and the libraries can read the fakes' answers. The folders
// python, node and go have the programs that call the libraries.
package judge
