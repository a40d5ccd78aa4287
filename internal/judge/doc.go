// Package judge asks a decision model whether a criterion is met.
//
// A rubric is a list of criteria. Each criterion becomes one yes/no question
// about a recorded exchange, the unit; the answer is the probability of yes; the
// outcome follows from the criterion's threshold. Criteria go only into
// instructions, what was recorded only into data, and thresholds, weights and
// the pass rule into no request at all.
//
// [New] checks the settings, [UnitFrom] builds a unit from a recorded
// inference, [Judge.Judge] judges it. A Judge is made once and shared.
//
// # Guarantees
//
//   - Judge gives one verdict for each criterion, in their order, whatever
//     happens. What could not be judged is inconclusive with a reason: it is
//     never a score and never counts as a pass.
//   - A number is what the judge said. One that is missing, no number, not
//     finite or not from 0 to 1 is no answer. Nothing is clamped, rounded, read
//     out of a text or made up.
//   - The id of a verdict follows from the unit, the criterion, its version and
//     the judge's configuration. To judge again replaces, it does not add.
//   - Requests carry Docket-Capture: off and nothing of other requests. Keys are
//     in the request to the judge and nowhere else.
//
// # Limits
//
// A judge is not deterministic: scores differ between runs over the same reply,
// by little with a decision model and by more with a chat model. Gate a batch
// on a rate, not on one case. Every call costs tokens. How well a model follows
// the definitions of met and not met differs from model to model: check each
// criterion on a few known cases (evaluator calibrate) before relying on it. In
// one request answers may influence each other, depending on the model;
// isolation: per_criterion keeps them apart at the price of more requests: use
// it when the order of the criteria changes answers. A threshold fitted on one
// method or judge does not carry over to another, which is why a verdict says
// its method and whether a fallback gave it. Judging settings may change before 1.0.
//
// That content cannot change a judge's instructions does not make a model deaf
// to what it reads. canary: true asks one more question, whether the content
// tries to influence its grading, and flags the verdicts.
//
// # How probabilities are obtained
//
// The decision formats (systemone, openai, sglang) and a user's own judge
// (http) give them. A chat model is asked for one word: at the first token with
// a letter in it, the probabilities of all tokens that mean yes and of all that
// mean no are summed up, p is the share of yes, and the sum of both is kept as
// label mass. When one side is not among the tokens, it is known to hold no
// more than the least likely of them, which leaves an interval for p: when that
// lies on one side of the threshold, its nearer end is the probability (flag
// bound), else the verdict is uncertain. A server without log-probabilities is
// asked for a JSON score with a reason; that it has none is remembered for an
// hour by backend and model.
//
// # Decisions
//
// The rubric's version hashes its criteria, a criterion's version everything
// that it says but its weight, and judge_config everything else that can change
// an answer. The address of a server is in none of them: moving a judge does
// not make it another one. A fallback's verdict has its primary's id, so that
// it is not judged twice, and its own judge_config.
//
// A criterion whose applies_when gets less than 0.5 is not_applicable. One
// whose applies_when got no answer is inconclusive.
//
// Rejected: free text in place of typed answers (a quoted "score": 1 in the
// judged reply would be read as the verdict); a common HTTP client with
// retries of 400s; one request for all criteria of a chat model (order changes
// answers, and one bad answer loses all); asking again until an answer is a
// number.
//
// # The rules
//
// Each rule is proved by the test behind it. Rules of batches and of the
// program are proved where they live.
//
//	 1  one yes/no question per criterion               TestRule01OneQuestionPerCriterion
//	 2  met from the threshold on, unrounded            TestRule02ThresholdIsComparedUnrounded
//	 3  threshold 0.5, above 0, at most 1               TestRule03ThresholdDefaultAndRange
//	 4  no covers partly and unclear                    TestRule04NoCoversPartlyAndUnclear
//	 5  all criteria in one request                     TestRule05AllCriteriaInOneRequest
//	 6  isolation: per_criterion                        TestRule06IsolationPerCriterion
//	 7  check known cases first                         TestRule07StartUpSaysToCheckKnownCases
//	 8  a conversation is sent as messages              TestRule08ConversationIsSentAsMessages
//	 9  media in place, or said to be missing           TestRule09MediaInPlaceOrSaid
//	10  image detail kept, else auto                    TestRule10ImageDetail
//	11  the chat judge too                              TestRule11ChatImageDetail
//	12  own question                                    TestRule12OwnQuestion
//	13  state keys are a contract                       TestRule13StateKeysAreAContract
//	14  the last assistant message is judged            TestRule14LastAssistantMessage
//	15  sources                                         TestRule15Sources
//	16  default wording chosen by measurement           TestRule16WordingIsMeasured
//	17  one judge, shared                               TestRule17SharedJudge
//	18  never an error                                  TestRule18NeverAnError
//	19  verdicts in the order of the criteria           TestRule19OrderOfCriteria
//	20  unsure is not satisfied                         TestRule20UnsureIsNotSatisfied
//	21  tokens of the judge                             TestRule21Tokens
//	22  one rendering for all backends                  TestRule22SameRenderingForAllBackends
//	23  predicates are statements                       TestRule23PredicatesAreStatements
//	24  the pass rule stays in code                     TestRule24PassRuleStaysInCode
//	25  criteria and expected output of a case          TestRule25CriteriaOfACase
//	26  a criterion is a string or an object            TestRule26StringOrObject
//	27  weights                                         TestRule27Weights
//	28  one threshold for all                           TestRule28OneThresholdForAll
//	29  which backend                                   TestRule29WhichBackend
//	30  timeout of a call                               TestRule30Timeout
//	31  every criterion must pass                       TestRule31PassRule
//	32  weighted mean of the probabilities              TestRule32Score
//	33  details on the judge call                       TestRule33JudgeCallHasTheDetails
//	34  the judge's cost is its own                     TestRule34CostOfTheJudgeIsItsOwn
//	35  a failed call is a row                          TestRule35FailedCallIsARow
//	36  a sentence for what failed                      TestRule36ReasonAfterwards
//	37  the result line                                 TestRule37ResultLine
//	38  scores differ between runs                      TestRule38ScoresDifferBetweenRuns
//	39  not deterministic, costs tokens                 TestRule39NotDeterministicAndCostsTokens
//	40  configured or named model                       TestRule40ConfiguredOrNamedModel
//	41  the judge is a service of its own               TestRule41JudgeIsAServiceOfItsOwn
//	42  no memory between verdicts                      TestRule42NoMemory
//	43  own threshold per criterion                     TestRule43OwnThresholdPerCriterion
//	44  one property per criterion                      TestRule44WarnsOnSeveralProperties
//	45  what a program decides                          TestRule45WhatAProgramDecides
//	46  a fixed verdict                                 TestRule46FixedVerdict
//	47  what was asked                                  TestRule47WhatWasAsked
//	48  the final reply                                 TestRule48FinalReply
//	49  tool calls of the turn                          TestRule49ToolCallsOfTheTurn
//	50  failed calls                                    TestRule50FailedCalls
//	51  no tools, no section                            TestRule51NoToolsNoSection
//	52  four sections                                   TestRule52FourSections
//	53  judge only the criterion                        TestRule53SystemMessageJudgesOnlyTheCriterion
//	54  the answer's format is always appended          TestRule54FormatAlwaysAppended
//	55  the exact request can be read                   TestRule55DryRunShowsTheExactRequest
//	56  an own rendering carries what is judged         TestRule56OwnRenderingMustCarryWhatIsJudged
//	57  a blank reply is inconclusive                   TestRule57BlankReply
//	58  an unavailable judge is inconclusive            TestRule58JudgeUnavailable
//	59  a score out of range is inconclusive            TestRule59ScoreOutOfRange
//	60  inconclusive is shown and left out of rates     TestRule60InconclusiveIsShownAndLeftOut
//	61  a gate needs something that was judged          TestRule61GateNeedsVerdicts
//	62  may change                                      TestRule62MayChange
//
// # The default wording
//
// Seven wordings were compared on 1,201 conversations that people labelled, in
// three sets (faithful to sources, no made-up facts, answers rather than
// refuses), each once with the criterion's text only and once with its own
// definitions of met and not met. The figure is the mean over the sets of the
// balanced error at threshold 0.5: the mean of the share of bad replies that
// passed and the share of good replies that failed. A judge that always says
// the same has 0.5.
//
//	wording          all    text only  definitions  AUC
//	nothing_against  0.492  0.489      0.495        0.531
//	every_respect    0.493  0.502      0.483        0.515
//	check            0.495  0.501      0.489        0.513
//	holds            0.496  0.500      0.492        0.527
//	meets            0.496  0.500      0.493        0.500
//	true_of          0.497  0.500      0.494        0.511
//	careful_reader   0.520  0.556      0.483        0.470
//
// nothing_against is the least wrong and is the default. The judge was
// sparrow-nano-general-v1.1, the only decision model that could be run where
// this was measured; it is small and close to chance on these sets, so the
// differences are within its noise, and only careful_reader is clearly worse.
// Measure again with the judge that you use: the command is with
// TestRule16WordingIsMeasured, the figures in testdata/wordings.
package judge
