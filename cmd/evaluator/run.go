package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// verb is one thing that the evaluator does.
type verb struct {
	name, about string
	run         func(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error
}

func verbs() []verb {
	return []verb{
		{"serve", "judge what is captured, and serve the page and the read API", serve},
		{"check", "check the whole settings file", check},
		{"judge", "judge one conversation in a file, or print the request (--dry-run)", judgeFile},
		{"try", "judge recent traffic by a rubric, cost first, and store nothing", tryRubric},
		{"explain", "say of one inference what was judged and how, or at which gate it stopped", explain},
		{"calibrate", "compare the judge with people: labelled cases of a file or of the page", calibrate},
		{"backfill", "judge what was recorded before", backfill},
		{"gate", "fail when the pass rate of traffic is below a minimum", rateGate},
		{"export", "write calls with all that is known about them to JSON lines", exportLines},
		{"delete", "delete all that is stored of a user or a conversation", deleteSubject},
		{"migrate", "create and update the tables", migrate},
	}
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	var names []string
	name := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	} else if len(args) == 1 && slices.Contains([]string{"-h", "-help", "--help"}, args[0]) {
		name = "help"
	}
	for _, v := range verbs() {
		if v.name == name {
			return v.run(ctx, args, getenv, stdout)
		}
		names = append(names, v.name)
	}
	if name == "help" {
		for _, v := range verbs() {
			fmt.Fprintf(stdout, "evaluator %-10s %s\n", v.name, v.about)
		}
		fmt.Fprint(stdout, "\nevaluator alone is evaluator serve; each verb lists its flags with -h\n")
		return nil
	}
	return fmt.Errorf("unknown verb %q: want one of %s, or help", name, strings.Join(names, ", "))
}
