package capture

import (
	"encoding/json"
	"strconv"
	"strings"

	"docket/internal/record"
	"docket/internal/wire"
)

const scopeName = "docket/internal/capture"

// spans are our SERVER span and, when something was sent upstream, the CLIENT
// span below it.
func (d *Drainer) spans(x *exchange, inf *record.Inference, dec *wire.Decoded) []record.Span {
	server := record.Span{
		Time: inf.Time, TraceID: inf.TraceID, SpanID: inf.SpanID, ParentSpanID: inf.ParentSpanID,
		TraceState: inf.TraceState, Flags: inf.TraceFlags, Name: inf.Method + " " + inf.Path, Kind: "Server",
		ServiceName: d.cfg.ServiceName, ResourceAttributes: d.resource(inf), ScopeName: scopeName, ScopeVersion: d.opts.Version,
		Attributes: serverAttributes(inf, 8), Duration: inf.Duration, StatusCode: "Unset",
	}
	if inf.Status >= 500 || inf.TerminalState == record.StateProxyDied {
		server.StatusCode, server.StatusMessage = "Error", inf.ErrorMessage
	}
	if inf.UpstreamSpanID == "" {
		return []record.Span{server}
	}
	client := server
	client.SpanID, client.ParentSpanID, client.Kind = inf.UpstreamSpanID, inf.SpanID, "Client"
	client.Name = clientName(inf)
	client.Attributes = d.clientAttributes(x, inf, dec)
	if inf.Stratum == record.StratumError {
		client.StatusCode, client.StatusMessage = "Error", inf.ErrorMessage
	}
	return []record.Span{server, client}
}

// clientName is "{operation} {model}", as the conventions say, or the method
// when the call is no known operation.
func clientName(inf *record.Inference) string {
	if inf.Operation == "" {
		return inf.Method
	}
	return strings.TrimSpace(inf.Operation + " " + inf.RequestModel)
}

// resource returns the attributes of the process. The spans of a batch share
// one map: nobody changes them.
func (d *Drainer) resource(inf *record.Inference) map[string]string {
	if m := d.lastResource; m != nil && m[record.AttrInstanceID] == inf.Instance && m[record.AttrEnvironment] == inf.Environment {
		return m
	}
	m := map[string]string{record.AttrServiceName: d.cfg.ServiceName}
	setText(m, record.AttrInstanceID, inf.Instance)
	setText(m, record.AttrEnvironment, inf.Environment)
	d.lastResource = m
	return m
}

// serverAttributes are what both spans have. size is how many there will be.
func serverAttributes(inf *record.Inference, size int) map[string]string {
	m := make(map[string]string, size)
	m[record.AttrHTTPMethod], m[record.AttrURLPath] = inf.Method, inf.Path
	m[record.AttrInferenceID], m[record.AttrTerminalState] = inf.ID, inf.TerminalState
	setText(m, record.AttrUpstream, inf.Upstream)
	setText(m, record.AttrProject, inf.Project)
	setText(m, record.AttrErrorType, inf.ErrorType)
	if inf.Status > 0 {
		m[record.AttrHTTPStatus] = strconv.Itoa(int(inf.Status))
	}
	return m
}

func (d *Drainer) clientAttributes(x *exchange, inf *record.Inference, dec *wire.Decoded) map[string]string {
	m := serverAttributes(inf, 28)
	m[record.AttrSampleValue] = strconv.FormatUint(inf.SampleValue, 16)
	m[record.AttrCaptureComplete] = strconv.FormatBool(!inf.RequestCut && !inf.ResponseCut && inf.CaptureLevel == record.CaptureFull)
	setText(m, record.AttrRedacted, inf.Redacted)
	setText(m, record.AttrOperation, inf.Operation)
	setText(m, record.AttrProvider, inf.Provider)
	setText(m, record.AttrRequestModel, inf.RequestModel)
	setText(m, record.AttrResponseModel, inf.ResponseModel)
	setText(m, record.AttrResponseID, inf.ResponseID)
	setText(m, record.AttrPromptName, inf.PromptName)
	setText(m, record.AttrPromptVersion, inf.PromptVersion)
	setText(m, record.AttrServerAddress, x.begin.ServerAddress)
	if x.begin.ServerPort > 0 {
		m[record.AttrServerPort] = strconv.Itoa(x.begin.ServerPort)
	}
	if inf.ConversationSource == record.ConversationHeader || inf.ConversationSource == record.ConversationBody {
		setText(m, record.AttrConversationID, inf.ConversationID)
	}
	if inf.Operation != "" {
		m[record.AttrRequestStream] = strconv.FormatBool(inf.Stream)
	}
	setJSON(m, record.AttrFinishReasons, dec.FinishReasons, len(dec.FinishReasons) > 0)
	setJSON(m, record.AttrToolNames, inf.ToolNames, len(inf.ToolNames) > 0)
	if inf.TimeToFirstToken != nil && inf.Stream {
		m[record.AttrTimeToFirstChunk] = strconv.FormatFloat(inf.TimeToFirstToken.Seconds(), 'f', -1, 64)
	}
	setUsage(m, inf.Usage)
	if d.cfg.SpanContent {
		setJSON(m, record.AttrInputMessages, dec.Input, len(dec.Input) > 0)
		setJSON(m, record.AttrOutputMessages, dec.Output, len(dec.Output) > 0)
		setText(m, record.AttrToolDefinitions, dec.Tools)
	}
	return m
}

// setUsage writes token counts as the conventions count them: input with what
// came from the cache and went into it, output with reasoning.
func setUsage(m map[string]string, u record.Usage) {
	setCount(m, record.AttrUsageInput, u.Input, u.CacheRead, u.CacheWrite)
	setCount(m, record.AttrUsageOutput, u.Output, u.Reasoning)
	setCount(m, record.AttrUsageCacheRead, u.CacheRead)
	setCount(m, record.AttrUsageCacheWrite, u.CacheWrite)
	setCount(m, record.AttrUsageReasoning, u.Reasoning)
}

// setCount writes the sum of the counts, if the first one is known.
func setCount(m map[string]string, name string, first *uint64, more ...*uint64) {
	if first == nil {
		return
	}
	sum := *first
	for _, n := range more {
		if n != nil {
			sum += *n
		}
	}
	m[name] = strconv.FormatUint(sum, 10)
}

func setText(m map[string]string, name, value string) {
	if value != "" {
		m[name] = value
	}
}

func setJSON(m map[string]string, name string, value any, ok bool) {
	if !ok {
		return
	}
	if b, err := json.Marshal(value); err == nil { // plain structs: it cannot fail
		m[name] = string(b)
	}
}
