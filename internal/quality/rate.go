package quality

import (
	"math"

	"docket/internal/record"
)

// Observation is one verdict of a sample.
type Observation struct {
	Pass       bool
	InclusionP float64 // probability with which it got into the sample, above 0
	Cluster    string  // what belongs together, such as a trace; "" stands alone
}

// Rate is a share in all traffic, estimated from what was judged.
type Rate struct {
	N         int     `json:"n"`        // verdicts
	Clusters  int     `json:"clusters"` // independent ones among them
	Effective float64 `json:"effective"`
	Rate      Figure  `json:"rate"`
	Low       Figure  `json:"low"`
	High      Figure  `json:"high"`
}

// Weighted estimates the share of passes by Hájek's ratio Σwy/Σw with w = 1/π
// ("Comment on a paper by D. Basu", 1971). The interval is Wilson's ("Probable
// inference", 1927) with Kish's effective size (ΣW)²/ΣW² ("Survey sampling",
// 1965) for n, where W is the sum of the weights of a cluster: verdicts of one
// cluster count as one, as if they always agreed. It is at the given
// confidence, two-sided.
func Weighted(sample []Observation, confidence float64) Rate {
	var w, wy float64
	clusters, alone := map[string]float64{}, 0.0
	r := Rate{Rate: undefined(), Low: undefined(), High: undefined()}
	for _, o := range sample {
		if !(o.InclusionP > 0) {
			continue
		}
		weight := 1 / o.InclusionP
		r.N++
		w += weight
		if o.Pass {
			wy += weight
		}
		if o.Cluster == "" {
			alone += weight * weight
			r.Clusters++
			continue
		}
		clusters[o.Cluster] += weight
	}
	if w == 0 {
		return r
	}
	squares := alone
	for _, sum := range clusters {
		squares += sum * sum
	}
	r.Clusters += len(clusters)
	r.Effective = w * w / squares
	r.Rate = Figure(wy / w)
	low, high := Wilson(wy/w, r.Effective, confidence)
	r.Low, r.High = Figure(low), Figure(high)
	return r
}

// Wilson is the score interval of a share p of n observations; n may be a
// fraction. Edwin B. Wilson, "Probable inference, the law of succession, and
// statistical inference", 1927.
func Wilson(p, n, confidence float64) (low, high float64) {
	if !(n > 0) {
		return 0, 1
	}
	z := math.Sqrt2 * math.Erfinv(confidence)
	z2 := z * z
	centre := (p + z2/(2*n)) / (1 + z2/n)
	half := z / (1 + z2/n) * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	return max(centre-half, 0), min(centre+half, 1)
}

// ByTrace is the cluster of a verdict that was drawn by trace or alone.
func ByTrace(v record.Verdict) string {
	if v.TraceID == "" {
		return v.InferenceID
	}
	return v.TraceID
}

// ByConversation is the cluster of a verdict that was drawn with its whole
// conversation: its turns got into the sample together.
func ByConversation(v record.Verdict) string {
	if v.ConversationID == "" {
		return ByTrace(v)
	}
	return "conversation " + v.Project + "/" + v.ConversationID
}

// Observations turns verdicts into a sample: the conclusive ones, each with its
// trace as cluster. The others are counted by outcome.
func Observations(verdicts []record.Verdict) (sample []Observation, others map[string]int) {
	return ObservationsBy(verdicts, ByTrace)
}

// ObservationsBy is Observations with other clusters.
func ObservationsBy(verdicts []record.Verdict, cluster func(record.Verdict) string) (sample []Observation, others map[string]int) {
	others = map[string]int{}
	for _, v := range verdicts {
		if v.Outcome != record.OutcomePass && v.Outcome != record.OutcomeFail {
			others[v.Outcome]++
			continue
		}
		sample = append(sample, Observation{Pass: v.Outcome == record.OutcomePass, InclusionP: v.InclusionP, Cluster: cluster(v)})
	}
	return sample, others
}
