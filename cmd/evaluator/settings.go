package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"docket/internal/config"
	"docket/internal/evaluate"
	"docket/internal/judge"
	"docket/internal/query"
	"docket/internal/sampling"
	"docket/internal/store"
)

// evaluatorSection is the section "evaluator" of the settings.
type evaluatorSection struct {
	evaluate.Config `yaml:",inline"`
	API             query.Config `yaml:"api"`
}

// settings are the sections that the evaluator uses.
type settings struct {
	store     store.Config
	judge     judge.Config
	rubrics   map[string]judge.Rubric
	rules     []sampling.Rule
	evaluator evaluatorSection
	starter   bool // rubric and rule are the built-in ones
}

func (s *settings) sections() map[string]any {
	return map[string]any{"store": &s.store, "judge": &s.judge, "rubrics": &s.rubrics, "rules": &s.rules, "evaluator": &s.evaluator}
}

// load reads and checks the settings. Flags that set single keys are added to
// flags by the caller and applied by the caller.
func load(file string, getenv func(string) string) (*settings, error) {
	s := defaults()
	known := []string{"proxy", "capture"}
	if err := config.Load(config.File(file, getenv), getenv, os.Environ(), s.sections(), known); err != nil {
		return nil, err
	}
	s.fillStarter()
	return s, s.validate()
}

func defaults() *settings {
	return &settings{
		store: store.DefaultConfig(), judge: judge.DefaultConfig(),
		evaluator: evaluatorSection{Config: evaluate.DefaultConfig(), API: query.DefaultConfig()},
	}
}

// fillStarter lets a judge that is set without a file judge something: whether
// the reply answers the request, for every reply.
func (s *settings) fillStarter() {
	if !s.judge.Enabled() || len(s.rubrics) > 0 || len(s.rules) > 0 {
		return
	}
	s.starter = true
	s.rubrics = map[string]judge.Rubric{starterName: starterRubric()}
	s.rules = []sampling.Rule{starterRule()}
}

// validate checks every section, and that the names in them fit together.
func (s *settings) validate() error {
	errs := []error{config.Validate(map[string]any{"store": &s.store, "judge": &s.judge, "evaluator": &s.evaluator})}
	names := slices.Sorted(maps.Keys(s.rubrics))
	for _, name := range names {
		check := judge.Rubric.ValidateAlone
		if s.canJudge() {
			check = func(r judge.Rubric) error { return r.Validate(s.judge) }
		}
		if err := check(s.rubrics[name]); err != nil {
			errs = append(errs, fmt.Errorf("rubrics.%s.%w", name, err))
		}
	}
	seen := map[string]bool{}
	for i, r := range s.rules {
		if err := r.Validate(names); err != nil {
			errs = append(errs, fmt.Errorf("rules: %w", err))
		}
		if seen[r.Name] {
			errs = append(errs, fmt.Errorf("rules[%d].name: %q: a rule above has it too", i, r.Name))
		}
		seen[r.Name] = true
	}
	return errors.Join(errs...)
}

// Validate checks both parts.
func (e evaluatorSection) Validate() error { return errors.Join(e.Config.Validate(), e.API.Validate()) }

// canJudge says whether there is a judge, or none is needed, since programs check
// all there is.
func (s *settings) canJudge() bool {
	if s.judge.Enabled() {
		return true
	}
	for _, r := range s.rubrics {
		if r.NeedsJudge() {
			return false
		}
	}
	return len(s.rubrics) > 0
}

// judgingOff says why nothing is judged and how to turn it on, or "" when it is on.
func (s *settings) judgingOff() string {
	switch {
	case !s.canJudge():
		return "Judging is off, calls are only recorded: no judge is set. Set DOCKET_JUDGE_BACKEND, DOCKET_JUDGE_URL, DOCKET_JUDGE_MODEL and DOCKET_JUDGE_KEY, or write a judge section into docket.yaml, as docket.example.yaml shows."
	case len(s.rules) == 0:
		return "Judging is off, calls are only recorded: there are rubrics (" + strings.Join(slices.Sorted(maps.Keys(s.rubrics)), ", ") + ") but no rule that samples for them. Write a rules section into docket.yaml, as docket.example.yaml shows."
	}
	return ""
}

// criteria names the criteria of all rubrics.
func (s *settings) criteria() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.rubrics)) {
		for _, c := range s.rubrics[name].CriterionNames() {
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// newFlags is the flag set of a verb, with the flag every verb has.
func newFlags(verb string, stdout io.Writer) (*flag.FlagSet, *string) {
	flags := flag.NewFlagSet("evaluator "+verb, flag.ContinueOnError)
	flags.SetOutput(stdout)
	return flags, flags.String("config", "", "settings file (docket.yaml if it exists)")
}

// isSet says whether a flag was given.
func isSet(flags *flag.FlagSet, name string) (set bool) {
	flags.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	return nil
}
