package capture

import (
	"maps"
	"slices"
	"strings"

	"docket/internal/record"
	"docket/internal/wire"
)

// addExchange appends the rows of one exchange to the batch, and to links what
// its conversation is told by.
func (d *Drainer) addExchange(b *record.Batch, links *[]pending, x *exchange) {
	w := wire.Exchange{
		Method: x.begin.Method, Path: x.path(), Query: x.begin.Query, API: x.begin.API,
		RequestHeader: pairMap(x.begin.Headers), ResponseHeader: pairMap(x.end.Headers),
		Request: x.request, Response: x.response, RequestCut: x.sent.Cut, ResponseCut: x.end.Response.Cut,
		Status: x.end.Status, BodyEnded: x.end.BodyEnded, EndSeen: x.end.EndEvent,
	}
	red := d.redactionOf(x.begin.Upstream)
	red.bodies(&w, x.end.EndEvent || x.end.BodyEnded)
	x.unsearched = red != nil && red.dropped > 0
	dec := wire.Decode(w)
	red.said(&w, &dec)
	inf := x.inference(&dec)
	red.row(&inf)
	red.gap(b, &inf)
	if inf.CostNanoUSD, inf.PriceVersion = reportedCost(&inf); inf.CostNanoUSD == nil && d.opts.Prices != nil {
		model := inf.ResponseModel
		if model == "" {
			model = inf.RequestModel
		}
		inf.CostNanoUSD, inf.PriceVersion = d.opts.Prices.Cost(inf.Provider, model, inf.Time, inf.Usage)
	}
	b.Spans = append(b.Spans, d.spans(x, &inf, &dec)...)
	if p, ok := d.linker.pendingOf(len(b.Inferences), &inf, &dec, red.linked(&inf, &dec, x.begin.UserID)); ok {
		*links = append(*links, p)
	}
	b.Inferences = append(b.Inferences, inf)
	b.Bodies = append(b.Bodies, record.Body{
		InferenceID: inf.ID, Time: inf.Time, Project: inf.Project,
		RequestHeaders: w.RequestHeader, ResponseHeaders: w.ResponseHeader,
		Request: w.Request, Response: dec.Response, Input: dec.Input, Output: dec.Output, Tools: dec.Tools,
	})
}

// path is the one that decides the API.
func (x *exchange) path() string {
	if x.begin.UpstreamPath != "" {
		return x.begin.UpstreamPath
	}
	return x.begin.Path
}

// inference is the narrow row.
func (x *exchange) inference(dec *wire.Decoded) record.Inference {
	h, e := &x.begin, &x.end
	inf := record.Inference{
		ID: h.ID.String(), Time: h.Time, Project: h.Project, Environment: h.Environment, Instance: h.Instance,
		TraceID: h.TraceID, SpanID: h.SpanID, ParentSpanID: h.ParentSpanID, UpstreamSpanID: h.UpstreamSpanID,
		TraceFlags: h.TraceFlags, TraceState: h.TraceState, SampleValue: h.SampleValue,
		ResponseID: dec.ResponseID, UserID: orElse(h.UserID, dec.UserID),
		PromptName: h.PromptName, PromptVersion: h.PromptVersion, Tags: h.Tags,
		Upstream: h.Upstream, Provider: orElse(h.Provider, dec.Provider), API: dec.API, Operation: dec.Operation,
		Method: h.Method, Path: h.Path, RequestModel: dec.RequestModel, ResponseModel: dec.ResponseModel, Stream: dec.Stream,
		TerminalState: x.state(), Status: uint16(e.Status), FinishReason: dec.FinishReason,
		ErrorType: dec.ErrorType, ErrorMessage: orElse(dec.ErrorMessage, e.Error), Usage: dec.Usage,
		Duration: x.duration(), Chunks: e.Chunks,
		RequestBytes: x.sent.Size, RequestCRC: x.sent.CRC, ResponseBytes: e.Response.Size, ResponseCRC: e.Response.CRC,
		CaptureLevel: h.Level, RequestCut: x.sent.Cut, ResponseCut: e.Response.Cut || dec.ResponseCut,
		Undecodable: dec.Undecodable, Internal: h.Internal, ToolStep: dec.ToolStep, ToolNames: dec.ToolNames,
	}
	inf.ConversationID, inf.ConversationSource = x.conversation(dec)
	inf.UpstreamRequestID = requestID(e.Headers)
	if e.HasFirst {
		first := e.FirstByte
		inf.TimeToFirstToken = &first
	}
	inf.Complete = inf.TerminalState == record.StateComplete && x.providerEnd(dec)
	if failed(inf.TerminalState) && (inf.ErrorType == "" || !e.Sent) {
		inf.ErrorType = inf.TerminalState
	}
	inf.Stratum = stratum(&inf, dec)
	inf.Attributes = x.attributes(dec)
	x.fillFromFields(&inf, dec)
	return inf
}

// providerEnd says whether the provider's own end arrived and no error was
// seen. Without bodies only the shape of the answer tells.
func (x *exchange) providerEnd(dec *wire.Decoded) bool {
	if x.begin.Level == record.CaptureFull && !x.unsearched {
		return dec.Complete
	}
	return (x.end.EndEvent || x.end.BodyEnded) && x.end.Status < 400
}

// conversation is the client's own grouping, from a header or the body.
func (x *exchange) conversation(dec *wire.Decoded) (id, source string) {
	switch {
	case x.begin.ConversationID != "":
		return x.begin.ConversationID, record.ConversationHeader
	case dec.ConversationID != "":
		return dec.ConversationID, record.ConversationBody
	}
	return "", record.ConversationNone
}

// failed says whether a call ended badly through no choice of the client.
func failed(state string) bool {
	return state != record.StateComplete && state != record.StateClientCancelled
}

// stratum is the group that sampling may treat differently.
func stratum(inf *record.Inference, dec *wire.Decoded) string {
	switch {
	case failed(inf.TerminalState), inf.Status >= 400, inf.ErrorType != "":
		return record.StratumError
	case dec.Refusal:
		return record.StratumRefusal
	case dec.CutByTokens:
		return record.StratumLength
	case dec.ToolError:
		return record.StratumToolError
	}
	return record.StratumOK
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// requestID is the upstream's own name for the call.
func requestID(headers []string) string {
	for _, name := range []string{"x-request-id", "request-id", "apim-request-id", "cf-ray"} {
		for pair := range slices.Chunk(headers, 2) {
			if pair[0] == name {
				return pair[1]
			}
		}
	}
	return ""
}

// attributes are rate limits, metadata and what else has no column.
func (x *exchange) attributes(dec *wire.Decoded) map[string]string {
	out := pairMap(x.begin.Attributes)
	if out == nil {
		out = make(map[string]string)
	}
	for pair := range slices.Chunk(x.end.Headers, 2) {
		if strings.Contains(pair[0], "ratelimit") || strings.HasPrefix(pair[0], "retry-after") {
			out[pair[0]] = pair[1]
		}
	}
	for name, value := range dec.Metadata {
		if len(out) < 4*maxListEntries {
			out["metadata."+bounded(name, maxValueBytes)] = bounded(value, maxValueBytes)
		}
	}
	maps.Copy(out, dec.Attributes)
	maps.Copy(out, pairMap(x.end.Attributes))
	set := func(name, value string) {
		if value != "" {
			out[name] = value
		}
	}
	set("docket.sources", x.begin.Sources)
	set("url.query", x.begin.Query)
	set("docket.previous_response_id", dec.PreviousResponseID)
	if len(out) == 0 {
		return nil
	}
	return out
}
