// Package telemetry sets up the OpenTelemetry SDK for the commands.
//
// It sends what was recorded to an OTLP receiver: spans of calls and of judges,
// and verdicts as gen_ai.evaluation.result events. It is off unless
// OTEL_EXPORTER_OTLP_ENDPOINT, or the variable of the one signal, is set; the
// other OTEL_EXPORTER_OTLP_* variables (headers, timeout, certificates,
// compression) are read by the exporters themselves.
//
// Export is best effort. The copy that counts is in ClickHouse, which gets it
// from the spool; here a receiver that is down loses spans.
//
// # Decisions
//
// Spans are made from records, after the call, instead of with the SDK's
// tracer: a record survives a kill and a span in memory does not, and both
// copies then say the same. The sampled flag of the caller decides what is
// exported; the SDK's samplers have no part in it.
package telemetry
