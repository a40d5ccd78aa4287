// Package sampling chooses, reproducibly, what is judged.
//
// The choice is OpenTelemetry's consistent probability sampling: a unit has a
// randomness value R of 56 bits, a rate has a rejection threshold T of 56 bits,
// and the unit is sampled when R >= T. So the choice can be computed again from
// the row alone, on any machine and in any order; a unit that is sampled at one
// rate is sampled at every higher one; and the inclusion probability,
// (2^56-T)/2^56, is known exactly, which is what makes weighted estimates
// honest.
//
// # Where R comes from
//
//   - "rv" of the ot entry of tracestate, when the caller sent one;
//   - the low 56 bits of the trace id, when the caller's W3C random flag says
//     that they are random;
//   - else a hash of the trace id: ids of unknown make are often not random;
//   - for units of kind conversation a hash of project and conversation id, so
//     that all turns of a conversation are in or out together.
//
// A caller's own threshold ("th") is not looked at: Docket records every
// exchange, also those whose trace the caller did not sample.
//
// # Rules
//
// A [Rule] has filters, a rate, and strata with rates of their own. Filters see
// only what is known of the finished exchange, never R, or the probability
// would no longer be that of the rate. Every rate is above 0: a stratum that is
// never judged would be missing from the weighted rate without a trace. To
// leave something out on purpose, filter it out. Units of kind conversation
// have no strata, since strata differ from turn to turn.
//
// A rule with a filter on feedback is about inferences with that feedback and
// nothing else: it sees an inference when feedback on it arrives, and what it
// chooses is the stratum "feedback", with its own probability.
//
// Whether a candidate can be judged at all ([Eligible]) is a question of its
// own, asked first, and answered with a reason.
//
// Rejected: a fresh random number per decision (not reproducible, and replicas
// disagree), and modulo of a counter (phase locks with periodic traffic).
package sampling
