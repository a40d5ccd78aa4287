// Package evaluate is the loop of the evaluator: it reads candidates, lets the
// sampling rules choose, has the judge judge what was chosen, and writes the
// verdicts.
//
// # Guarantees
//
//   - Every candidate of the owned shards is decided, whatever it is about: it
//     is either judged or counted by reason in an epoch.
//   - A restart loses nothing and judges nothing twice: the saved cursor never
//     passes a candidate whose verdicts are not written, and verdicts that are
//     there already are not asked for again. When two evaluators overlap, the
//     ids of the verdicts are the same: that costs money, never correctness.
//   - A rubric judges a candidate once, also when several of its rules choose it:
//     the rule with the highest rate is noted, with the probability that any of
//     the rules chooses it.
//   - Feedback makes an inference a candidate again, for the rules with a filter
//     on feedback and for no other; each of them decides about it once, however
//     often feedback comes. What was judged before is not judged again: its
//     verdicts get the probability that any of the rules chooses it. While an
//     inference is being judged by a rubric, a second unit for the same waits.
//   - A judge that fails, hangs or answers nonsense does not stop the loop: the
//     judge turns it into inconclusive verdicts. A store that is away stops it
//     only until the store is back.
//
// # How it reads
//
// Candidates are ordered by the time at which the store began to insert them.
// An insert that takes long may become visible after a younger one, so the loop
// stays a little behind the store's clock (settle), and every while looks once
// more at what it has passed (overlap). Ids that were decided in that time are
// remembered.
//
// The cursor is saved for each shard, so that the shards can be divided anew.
// After a restart the loop begins at the earliest cursor of its shards, less the
// overlap. Candidates before the saved cursor are then judged if their verdicts
// are missing. How far candidates are counted in epochs is saved beside it, so
// that none is counted again.
//
// # Limits
//
// What the rules left out is counted in memory and written every few seconds:
// an evaluator that is killed loses the counts of that time, never verdicts.
package evaluate
