package telemetry

import (
	"cmp"
	"strings"
)

// endpoint is where a signal goes, "" for nowhere. The variable of the signal
// is the whole URL, that of all signals gets the signal's path.
func endpoint(getenv func(string) string, signal string) string {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(getenv("OTEL_"+strings.ToUpper(signal)+"_EXPORTER"), "none") {
		return ""
	}
	if own := getenv("OTEL_EXPORTER_OTLP_" + strings.ToUpper(signal) + "_ENDPOINT"); own != "" {
		return own
	}
	all := getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	if all == "" {
		return ""
	}
	return strings.TrimSuffix(all, "/") + "/v1/" + signal
}

// serviceName is what a record's own resource is called when it names none.
func serviceName(getenv func(string) string) string {
	return cmp.Or(getenv("OTEL_SERVICE_NAME"), "docket")
}
