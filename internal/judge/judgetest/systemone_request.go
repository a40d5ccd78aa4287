package judgetest

import "fmt"

// validation collects what is wrong with a request of the System One format, in
// the shape that its servers answer with.
type validation struct {
	Detail []fault `json:"detail"`
}

type fault struct {
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
	Type string `json:"type"`
}

func (v *validation) add(kind, message string, loc ...any) {
	v.Detail = append(v.Detail, fault{Loc: append([]any{"body"}, loc...), Msg: message, Type: kind})
}

func (v *validation) request(body any) {
	req, ok := body.(map[string]any)
	if !ok {
		v.add("dict_type", "want an object")
		return
	}
	for _, key := range []string{"state", "model", "questions"} {
		if _, ok := req[key]; !ok {
			v.add("missing", "field required", key)
		}
	}
	if state, ok := req["state"]; ok && !isText(state) {
		v.add("union_type", "want a string, an object or a list", "state")
	}
	if model, ok := req["model"]; ok {
		if _, isString := model.(string); !isString {
			v.add("string_type", "want a string", "model")
		}
	}
	questions, ok := req["questions"].(map[string]any)
	if !ok && req["questions"] != nil {
		v.add("dict_type", "want an object", "questions")
	}
	if ok && len(questions) == 0 {
		v.add("too_short", "want at least one question", "questions")
	}
	for id, q := range questions {
		v.question(id, q)
	}
}

// isText says whether a value may stand where the format has text.
func isText(value any) bool {
	switch value.(type) {
	case string, map[string]any, []any:
		return true
	}
	return false
}

func (v *validation) question(id string, value any) {
	q, ok := value.(map[string]any)
	if !ok || id == "" {
		v.add("dict_type", "want an object under an id", "questions", id)
		return
	}
	if text := q["instructions"]; text != nil && !isText(text) {
		v.add("string_type", "want text", "questions", id, "instructions")
	}
	switch kind := q["type"]; kind {
	case "noul":
		v.noul(id, q["criteria"])
	case "choice":
		v.choice(id, q["criteria"])
	case "score":
		v.score(id, q["criteria"])
	default:
		v.add("union_tag_invalid", fmt.Sprintf("type %v: want noul, choice or score", kind), "questions", id, "type")
	}
}

func (v *validation) noul(id string, criteria any) {
	sides, ok := criteria.(map[string]any)
	if criteria != nil && !ok {
		v.add("dict_type", "want an object with true and false", "questions", id, "criteria")
	}
	for side, text := range sides {
		if side != "true" && side != "false" || text != nil && !isText(text) {
			v.add("string_type", "want text under true and false", "questions", id, "criteria", side)
		}
	}
}

func (v *validation) choice(id string, criteria any) {
	options, ok := criteria.(map[string]any)
	if !ok || len(options) < 2 || len(options) > 255 {
		v.add("dict_type", "want an object of 2 to 255 options", "questions", id, "criteria")
		return
	}
	for name, text := range options {
		if text != nil && !isText(text) {
			v.add("string_type", "want text or null", "questions", id, "criteria", name)
		}
	}
}

func (v *validation) score(id string, criteria any) {
	levels, ok := criteria.([]any)
	if !ok || len(levels) < 2 || len(levels) > 10 {
		v.add("list_type", "want a list of 2 to 10 levels", "questions", id, "criteria")
		return
	}
	for i, text := range levels {
		if !isText(text) {
			v.add("string_type", "want text", "questions", id, "criteria", i)
		}
	}
}
