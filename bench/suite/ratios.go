package main

import (
	"fmt"
	"io"
)

// goal is one figure that matters: a ratio to the plain Go proxy in the same
// phase of the same run.
type goal struct {
	phase, what    string
	good, moonshot float64
	more           bool // more is better
	value          func(Sample) float64
}

func cpuOf(s Sample) float64 { return s.CPU }
func rpsOf(s Sample) float64 { return s.Res.RPS }
func p95Of(s Sample) float64 { return s.Res.Latency.P95 }

func goals() []goal {
	return []goal{
		{"amax", "(a) JSON, 2 KB request, 1 KB response, 32 connections: CPU", 1.5, 1.25, false, cpuOf},
		{"bmax", "(b) stream of 100 chunks without gaps, 16 connections: CPU", 1.6, 1.25, false, cpuOf},
		{"c200", "(c) 200 streams at once, 100 chunks, 5 ms gaps: CPU", 1.25, 1.1, false, cpuOf},
		{"d40", "(d) 1 MB request body (image), 40/s: CPU", 3, 2.2, false, cpuOf},
		{"amax", "(a) maximum throughput", 0.65, 0.8, true, rpsOf},
		{"a2000", "p95 at 2,000 requests/s", 1.5, 1.2, false, p95Of},
	}
}

// ratios prints the goals for one target beside what was measured. A phase that
// was not run, or that has no CPU figure, is a dash.
func ratios(w io.Writer, target string, samples []Sample) {
	fmt.Fprintf(w, "\n### %s against plain\n\n| load | good | moonshot | measured | |\n|---|---|---|---|---|\n", target)
	for _, g := range goals() {
		sign := "≤"
		if g.more {
			sign = "≥"
		}
		ours, plain := medianOf(samples, g.phase, target, g.value), medianOf(samples, g.phase, "plain", g.value)
		measured, verdict := "–", ""
		if ours > 0 && plain > 0 {
			r := ours / plain
			measured, verdict = fmt.Sprintf("%.2f×", r), g.judge(r)
		}
		fmt.Fprintf(w, "| %s | %s %g× | %s %g× | %s | %s |\n", g.what, sign, g.good, sign, g.moonshot, measured, verdict)
	}
	var differs, rewritten, failed int64
	for _, s := range samples {
		if s.Target == target {
			differs += s.Res.BodyDiffers
			rewritten += s.Res.ReqRewritten
			for _, n := range s.Res.Errors {
				failed += n
			}
		}
	}
	fmt.Fprintf(w, "| bytes changed, answers failed | 0 | 0 | %d, %d | |\n", differs+rewritten, failed)
	peak(w, target, samples)
}

// peak prints the most memory that the target has had.
func peak(w io.Writer, target string, samples []Sample) {
	var most float64
	for _, s := range samples {
		if s.Target == target {
			most = max(most, s.Peak)
		}
	}
	fmt.Fprintf(w, "| memory at its peak | ≤ 512 MiB | ≤ 256 MiB | %.0f MiB | %s |\n", most, goal{good: 512, moonshot: 256}.judge(most))
}

// judge names what a measured value reaches.
func (g goal) judge(v float64) string {
	reaches := func(limit float64) bool {
		if g.more {
			return v >= limit
		}
		return v <= limit
	}
	switch {
	case reaches(g.moonshot):
		return "moonshot"
	case reaches(g.good):
		return "good"
	default:
		return "missed"
	}
}

func medianOf(samples []Sample, phase, target string, f func(Sample) float64) float64 {
	var v []float64
	for _, s := range samples {
		if s.Phase == phase && s.Target == target && f(s) > 0 {
			v = append(v, f(s))
		}
	}
	return median(v)
}
