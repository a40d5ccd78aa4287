package capture

import (
	"encoding/json"

	"docket/internal/record"
)

// priceReported is the price version of a cost that the upstream reports itself.
const priceReported = "reported"

// reportedCost is what OpenRouter says that a call cost: it picks one of many
// hosts with prices of their own, so its bill is better than any table. Its
// credits are US dollars. With the customer's own key at that host (BYOK) it is
// its fee only, and not used.
func reportedCost(inf *record.Inference) (nano *uint64, version string) {
	if inf.Provider != "openrouter" || inf.Usage.Raw == "" {
		return nil, ""
	}
	var usage struct {
		Cost *float64 `json:"cost"`
		BYOK bool     `json:"is_byok"`
	}
	const most = 1e6 // dollars for one call: something else
	if json.Unmarshal([]byte(inf.Usage.Raw), &usage) != nil || usage.Cost == nil || usage.BYOK || *usage.Cost < 0 || *usage.Cost > most {
		return nil, ""
	}
	n := uint64(*usage.Cost*1e9 + 0.5)
	return &n, priceReported
}
