package wire

import (
	"strconv"
	"strings"

	"docket/internal/record"
)

// Attributes of embeddings.
const (
	attrInputs     = "docket.embeddings.inputs"
	attrVectors    = "docket.embeddings.vectors"
	attrDimensions = "gen_ai.embeddings.dimension.count"
)

// embeddingsRequest reads the request of OpenAI's and Ollama's embedding APIs.
func embeddingsRequest(v value, d *Decoded) {
	for k, m := range v.members() {
		switch k {
		case "model":
			d.RequestModel = m.text()
		case "input", "prompt":
			var inputs int
			d.Input, inputs = inputTexts(m)
			d.setAttribute(attrInputs, strconv.Itoa(inputs))
		case "user":
			d.UserID = m.word()
		}
	}
}

// geminiEmbedRequest reads the request of Gemini's embedding methods.
func geminiEmbedRequest(v value, d *Decoded) {
	inputs := 0
	add := func(content value) {
		if content.isObject() {
			d.Input = append(d.Input, geminiMessage(content))
			inputs++
		}
	}
	add(v.get("content"))
	for item := range v.get("requests").items() {
		add(item.get("content"))
	}
	d.setAttribute(attrInputs, strconv.Itoa(inputs))
}

// embeddingsResponse reads an answer with vectors. They are counted and
// measured; the stored copy of the answer holds a mark in their place.
func embeddingsResponse(v value, r *reply) {
	if isError(v.get("error")) {
		r.takeError(v)
		return
	}
	r.model = v.get("model").text()
	if u := v.first("usage", "usageMetadata"); u.isObject() {
		r.usage = u
	} else if v.get("prompt_eval_count").given() {
		r.usage = ollamaUsage(v)
	}
	e := vectorElider{text: v.raw}
	e.walk(&cursor{s: v.raw}, 0)
	r.body = append(e.out, v.raw[e.from:]...)
	r.setAttribute(attrVectors, strconv.Itoa(e.vectors))
	if e.size > 0 {
		r.setAttribute(attrDimensions, strconv.Itoa(e.size))
	}
	r.done = r.whole && e.vectors > 0
	if r.whole && e.vectors == 0 {
		r.unknown(v)
	}
}

// vectorElider copies an answer and leaves its vectors out: arrays of numbers,
// and base64 under the name "embedding".
type vectorElider struct {
	text    string
	from    int // what of text is not copied yet
	out     []byte
	vectors int
	size    int // of the first vector
}

// maxVectorDepth is how deep vectors are looked for.
const maxVectorDepth = 6

func (e *vectorElider) walk(c *cursor, depth int) {
	switch c.peek() {
	case '{':
		for ok := c.enter('{'); ok; ok = c.more('}') {
			name := c.key()
			if c.peek() == '"' && name == "embedding" {
				start := c.i
				s, _ := c.str()
				e.leaveOut(start, c.i, len(s)*3/4/4)
				continue
			}
			e.inner(c, depth)
		}
	case '[':
		start := c.i
		first := strings.TrimLeft(c.s[c.i+1:], " \t\r\n")
		if first != "" && (first[0] == '-' || first[0] >= '0' && first[0] <= '9') {
			c.skip()
			e.leaveOut(start, c.i, strings.Count(c.s[start:c.i], ",")+1)
			return
		}
		for ok := c.enter('['); ok; ok = c.more(']') {
			e.inner(c, depth)
		}
	default:
		c.skip()
	}
}

func (e *vectorElider) inner(c *cursor, depth int) {
	if depth == maxVectorDepth {
		c.skip()
		return
	}
	e.walk(c, depth+1)
}

func (e *vectorElider) leaveOut(start, end, size int) {
	if e.vectors++; e.vectors == 1 {
		e.size = size
	}
	e.out = append(e.out, e.text[e.from:start]...)
	e.out = append(e.out, `"{docket-elided:`+strconv.Itoa(size)+` numbers}"`...)
	e.from = end
}

// moderationsRequest reads the request of the moderations API.
func moderationsRequest(v value, d *Decoded) {
	d.RequestModel = v.get("model").text()
	d.Input, _ = inputTexts(v.get("input"))
}

// moderationsResponse keeps each result as structure.
func moderationsResponse(v value, r *reply) {
	if isError(v.get("error")) {
		r.takeError(v)
		return
	}
	r.id, r.model = v.get("id").text(), v.get("model").text()
	flagged, found := false, false
	for item := range v.get("results").items() {
		found = true
		flagged = flagged || item.get("flagged").isTrue()
		r.choice(0).add(0, record.Part{Type: record.PartOther, Content: item.compact()})
	}
	if u := v.get("usage"); u.isObject() {
		r.usage = u
	}
	r.setAttribute("docket.moderation.flagged", strconv.FormatBool(flagged))
	r.done = r.whole && found
	if !found {
		r.unknown(v)
	}
}
