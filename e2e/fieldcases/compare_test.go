package fieldcases

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// comparer compares what came with an expectation, path by path.
type comparer struct {
	c     fieldCase
	diffs []string
}

func (k *comparer) fail(path string, want, got any) {
	w, _ := json.Marshal(want) //nolint:errchkjson // from JSON
	g, _ := json.Marshal(got)  //nolint:errchkjson // from JSON
	k.diffs = append(k.diffs, fmt.Sprintf("%s: want %.200s, got %.200s", path, w, g))
}

// compare notes the differences below a path. The lists accept, soft and
// json_equal of the case apply.
func (k *comparer) compare(path string, want, got any) {
	if slices.Contains(k.c.texts("soft"), path) || k.accepted(path, got) {
		return
	}
	if slices.Contains(k.c.texts("json_equal"), path) {
		want, got = parsed(want), parsed(got)
	}
	switch w := want.(type) {
	case nil:
		if !nullAllows(path, got) {
			k.fail(path, want, got)
		}
	case tree:
		g, ok := got.(tree)
		if !ok {
			k.fail(path, want, got)
			return
		}
		k.compareTrees(path, w, g)
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			k.fail(path, want, got)
			return
		}
		for i := range w {
			k.compare(path+"."+strconv.Itoa(i), w[i], g[i])
		}
	default:
		if !reflect.DeepEqual(want, got) {
			k.fail(path, want, got)
		}
	}
}

func (k *comparer) compareTrees(path string, want, got tree) {
	for key, w := range want {
		k.compare(path+"."+key, w, got[key])
	}
	for key, g := range got {
		if _, ok := want[key]; !ok && !empty(g) {
			k.compare(path+"."+key, nil, g)
		}
	}
}

func (k *comparer) accepted(path string, got any) bool {
	list, _ := k.c.at("accept", path).([]any)
	return slices.ContainsFunc(list, func(v any) bool { return reflect.DeepEqual(v, got) })
}

func parsed(v any) any {
	s, _ := v.(string)
	var out any
	if json.Unmarshal([]byte(s), &out) != nil {
		return v
	}
	return out
}

func empty(v any) bool {
	return v == nil || v == false || v == "" || reflect.DeepEqual(v, []any{}) || reflect.DeepEqual(v, tree{})
}

// nullAllows says what a null of the expectation stands for: nothing, or
// anything where the null says that it does not matter.
func nullAllows(path string, got any) bool {
	switch last := path[strings.LastIndexByte(path, '.')+1:]; {
	case got == nil:
		return true
	case last == "id" && strings.Contains(path, ".tool_calls."):
		return true
	case strings.HasPrefix(path, "record.error."), strings.HasPrefix(path, "trace."):
		return true
	case last == "cached_tokens", last == "reasoning_tokens":
		return got == 0.0
	}
	return false
}

// asTree brings a value into the form of encoding/json.
func asTree(v any) any {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a mistake of this test
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}
