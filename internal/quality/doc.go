// Package quality is statistics over verdicts: how well a judge agrees with
// people (calibration), and how often criteria are met in traffic of which only
// a part was judged (weighted rates with intervals).
//
// # Guarantees
//
//   - The same input gives the same figures: what is random (resampling, folds)
//     comes from a seed that the caller passes.
//   - A figure that is not defined, such as kappa when all labels are equal, is
//     NaN, printed as "-" and encoded as null. It is never 0 by invention.
//   - Verdicts that are inconclusive or not applicable enter no rate and no
//     agreement; who calls counts them beside.
//
// # Decisions
//
// Agreement is never one number. Where nine of ten replies are good, a judge
// that always says pass has an accuracy of 0.9 and is of no use, so the report
// puts that baseline beside the accuracy, and has balanced accuracy, failure
// recall and kappa, which such a judge cannot raise.
//
// A weighted rate takes all verdicts of one trace as one observation: turns and
// criteria of a trace fail together, and counting each of them would make the
// interval narrower than what is known.
//
// Rejected: normal intervals (wrong near 0 and 1, where rates of quality are),
// and isotonic calibration (needs more labels than teams have).
package quality
