package main

import (
	"docket/internal/judge"
	"docket/internal/sampling"
)

const starterName = "starter"

// starterRubric judges what can be judged of any application: whether the reply
// answers.
func starterRubric() judge.Rubric {
	r := judge.Rubric{Criteria: []judge.Criterion{{
		Name:             "answers_request",
		Text:             "The reply answers what the user asked for.",
		SatisfiedWhen:    "the reply gives the user what was asked for, or asks back for what is missing to do so",
		NotSatisfiedWhen: "the reply ignores the request, answers another one, or answers it only in part",
	}}}
	r.SetDefaults()
	return r
}

// starterRule takes every reply.
func starterRule() sampling.Rule {
	r := sampling.Rule{Name: starterName, Rubric: starterName, Rate: 1}
	r.SetDefaults()
	return r
}
