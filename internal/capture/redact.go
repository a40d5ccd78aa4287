package capture

import (
	"maps"
	"slices"

	"docket/internal/record"
	"docket/internal/redact"
	"docket/internal/wire"
)

// redaction applies the rules of the settings to one exchange, before anything
// is made of it: to its bodies, then to what they say, then to the row. Nothing
// that reaches the sink, the exporter or quarantine comes around it. A nil
// redaction changes nothing.
type redaction struct {
	rules    *redact.Rules
	upstream string
	request  *redact.Filter
	response *redact.Filter
	marks    redact.Marks
	original wire.Exchange // before redaction; only with a key
	cut      bool          // what is left of the request is not all of it
	rawLost  bool          // bytes of a body are left out, its messages are not
	dropped  uint64        // bytes of bodies that could not be searched
	changed  struct{ request, response bool }
}

// redactionOf returns the redaction of calls to an upstream, nil without rules.
func (d *Drainer) redactionOf(upstream string) *redaction {
	if d.rules == nil {
		return nil
	}
	r := &redaction{
		rules: d.rules, upstream: upstream, marks: redact.Marks{},
		request: d.rules.Filter(upstream, redact.WhereRequest), response: d.rules.Filter(upstream, redact.WhereResponse),
	}
	if r.request == nil && r.response == nil {
		return nil
	}
	return r
}

// bodies redacts the raw bodies and the headers of an exchange.
func (r *redaction) bodies(w *wire.Exchange, ended bool) {
	if r == nil {
		return
	}
	if r.rules.Key() != nil {
		r.original = *w
	}
	w.Query = r.request.Text(w.Query, r.marks)
	request := r.body(r.request, &w.Request, &w.RequestHeader, w.RequestCut)
	response := r.body(r.response, &w.Response, &w.ResponseHeader, w.ResponseCut || !ended)
	w.RequestCut, w.ResponseCut = w.RequestCut || request.cut, w.ResponseCut || response.cut
	r.cut = request.cut
	r.changed.request, r.changed.response = request.changed, response.changed
	w.RequestHeader = r.pairs(r.request, w.RequestHeader)
	w.ResponseHeader = r.pairs(r.response, w.ResponseHeader)
}

// outcome is what became of a body.
type outcome struct{ changed, cut bool }

// body redacts one body. An encoded one is kept without its encoding.
func (r *redaction) body(f *redact.Filter, raw *[]byte, header *map[string]string, open bool) outcome {
	if f == nil || len(*raw) == 0 {
		return outcome{}
	}
	encoding := (*header)["content-encoding"]
	plain, cut, err := wire.Content(encoding, *raw)
	if err != nil {
		r.marks.Undecoded()
		r.dropped += uint64(len(*raw))
		*raw = nil
		return outcome{changed: true}
	}
	got := f.Body(plain, open || cut, r.marks)
	if got.Dropped {
		r.dropped += uint64(len(*raw))
	}
	if encoding != "" {
		h := maps.Clone(*header)
		h["content-encoding"] = "identity"
		*header = h
	}
	*raw = got.Bytes
	return outcome{got.Changed, cut}
}

// said redacts what was decoded. It was decoded from bodies that are redacted
// already, so there is something to find only where an API joins texts in a way
// of its own: then the bytes of that body are not kept.
func (r *redaction) said(w *wire.Exchange, dec *wire.Decoded) {
	if r == nil {
		return
	}
	before := total(r.marks)
	r.messages(r.request, dec.Input)
	r.texts(r.request, &dec.Tools, &dec.RequestModel, &dec.UserID, &dec.ConversationID, &dec.PreviousResponseID)
	dec.Metadata = r.pairs(r.request, dec.Metadata)
	if total(r.marks) > before {
		w.Request, r.rawLost, r.changed.request = nil, true, true
	}
	before = total(r.marks)
	r.messages(r.response, dec.Output)
	r.texts(r.response, &dec.ResponseModel, &dec.ResponseID, &dec.FinishReason, &dec.Usage.Raw, &dec.ErrorType, &dec.ErrorMessage)
	dec.Attributes = r.pairs(r.response, dec.Attributes)
	r.list(r.response, dec.FinishReasons)
	r.list(r.response, dec.ToolNames)
	if total(r.marks) > before {
		dec.Response, r.rawLost, r.changed.response = nil, true, true
	}
}

func total(m redact.Marks) (n uint32) {
	for _, count := range m {
		n += count
	}
	return n
}

// messages redacts messages in place, and then what their parts say together.
func (r *redaction) messages(f *redact.Filter, list []record.Message) {
	for i := range list {
		m := &list[i]
		r.texts(f, &m.Name, &m.FinishReason)
		var said []*string
		for j := range m.Parts {
			p := &m.Parts[j]
			r.texts(f, &p.Content, &p.Name, &p.ID, &p.URI, &p.FileID, &p.Filename, &p.MIMEType, p.Arguments, p.Response, p.Detail)
			if p.Type == record.PartText {
				said = append(said, &p.Content)
			}
		}
		if len(said) > 1 {
			f.Pieces(said, r.marks)
		}
	}
}

func (r *redaction) texts(f *redact.Filter, texts ...*string) {
	for _, s := range texts {
		if s != nil && *s != "" {
			*s = f.Text(*s, r.marks)
		}
	}
}

func (r *redaction) list(f *redact.Filter, texts []string) {
	for i := range texts {
		texts[i] = f.Text(texts[i], r.marks)
	}
}

// pairs redacts names and values, in a copy when there is something to redact.
func (r *redaction) pairs(f *redact.Filter, m map[string]string) map[string]string {
	if f == nil {
		return m
	}
	out, copied := m, false
	for _, name := range slices.Sorted(maps.Keys(m)) { // of two that become one, always the same stays
		newName, newValue := f.Text(name, r.marks), f.Text(m[name], r.marks)
		if newName == name && newValue == m[name] {
			continue
		}
		if !copied {
			out, copied = maps.Clone(m), true
		}
		delete(out, name)
		out[newName] = newValue
	}
	return out
}

// row redacts what the row has from other places than the bodies, and marks it.
func (r *redaction) row(inf *record.Inference) {
	if r == nil {
		return
	}
	r.texts(r.request, &inf.UserID, &inf.ConversationID, &inf.PromptName, &inf.PromptVersion, &inf.Project, &inf.Environment,
		&inf.Path, &inf.TraceState, &inf.RequestModel)
	inf.Tags = slices.Clone(inf.Tags)
	r.list(r.request, inf.Tags)
	r.texts(r.response, &inf.ErrorType, &inf.ErrorMessage, &inf.UpstreamRequestID)
	inf.Attributes = r.pairs(r.response, r.pairs(r.request, inf.Attributes))
	// A checksum tells what was there to whoever tries all that may have been.
	if r.changed.request {
		inf.RequestCRC = 0
	}
	if r.changed.response {
		inf.ResponseCRC = 0
	}
	inf.RequestCut = inf.RequestCut || r.cut
	inf.Undecodable = inf.Undecodable || r.dropped > 0
	switch {
	case r.dropped > 0:
		inf.Redacted = record.RedactedDropped
	case r.rawLost:
		inf.Redacted = record.RedactedRaw
	case len(r.marks) > 0:
		inf.Redacted = record.RedactedMasked
	}
	if len(r.marks) > 0 {
		inf.Redactions = r.marks
	}
}

// gap counts bodies that were left out.
func (r *redaction) gap(b *record.Batch, inf *record.Inference) {
	if r == nil || r.dropped == 0 {
		return
	}
	b.Gaps = append(b.Gaps, record.Gap{
		Time: inf.Time, Instance: inf.Instance, Project: inf.Project, Reason: record.GapUndecodable, Count: 1, Bytes: r.dropped,
		Detail: "a body that the redaction rules cannot be applied to",
	})
}

// linked returns what the conversation of a call is told by. With a key that is
// what was said, since a keyed hash tells nobody of it; else what is left of it,
// with all rules applied both ways, since a request repeats answers. Of calls
// without a key in which a path took something away, too little is left.
func (r *redaction) linked(inf *record.Inference, dec *wire.Decoded, user string) said {
	out := said{user: inf.UserID, input: dec.Input, output: dec.Output}
	switch {
	case r == nil || len(r.marks) == 0 && !r.rules.OneWay():
	case r.rules.Key() != nil:
		whole := wire.Decode(r.original)
		out = said{user: orElse(user, whole.UserID), input: whole.Input, output: whole.Output}
	case r.request.ByPath(r.marks) || r.response.ByPath(r.marks):
		out = said{}
	case r.rules.OneWay():
		both := &redaction{marks: redact.Marks{}}
		filter := r.rules.Filter(r.upstream, redact.WhereAll)
		out.input, out.output = cloneMessages(dec.Input), cloneMessages(dec.Output)
		both.messages(filter, out.input)
		both.messages(filter, out.output)
	}
	return out
}

// said is what the conversation of a call is told by.
type said struct {
	user          string
	input, output []record.Message
}

func cloneMessages(list []record.Message) []record.Message {
	out := slices.Clone(list)
	for i := range out {
		out[i].Parts = slices.Clone(out[i].Parts)
		for j := range out[i].Parts {
			p := &out[i].Parts[j]
			for _, s := range []**string{&p.Arguments, &p.Response, &p.Detail} {
				if *s != nil {
					text := **s
					*s = &text
				}
			}
		}
	}
	return out
}

// gaps redacts what counts of gaps say in words of clients.
func (d *Drainer) redactGaps(list []record.Gap) {
	f := d.rules.Filter("", redact.WhereAll)
	for i := range list {
		list[i].Project = f.Text(list[i].Project, redact.Marks{})
		list[i].Detail = f.Text(list[i].Detail, redact.Marks{})
	}
}
