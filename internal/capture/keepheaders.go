package capture

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"docket/internal/redact"
)

const (
	maxKeptHeaders  = 64
	maxHeaderMemory = 1000 // names whose decision is remembered
)

// headerFilter chooses the headers that are kept: those that package redact
// allows. It remembers the decision for a name, which saves most of the cost.
type headerFilter struct {
	extra []string
	known sync.Map // header name as net/http writes it, to the name that is stored or ""
	size  atomic.Int32
}

// append appends name and value of the headers that are kept, sorted by name.
func (f *headerFilter) append(kv []string, header http.Header) []string {
	start := len(kv)
	for name, values := range header {
		lower := f.stored(name)
		if lower == "" || len(kv)-start >= 2*maxKeptHeaders {
			continue
		}
		kv = append(kv, lower, bounded(joined(values), maxValueBytes))
	}
	sortPairs(kv[start:])
	return kv
}

// stored is the name under which a header is kept, "" when it is not.
func (f *headerFilter) stored(name string) string {
	if lower, ok := f.known.Load(name); ok {
		return lower.(string)
	}
	lower := ""
	for allowed := range redact.AllowedHeaders(http.Header{name: {""}}, f.extra) {
		lower = allowed
	}
	if f.size.Load() < maxHeaderMemory {
		f.size.Add(1)
		f.known.Store(name, lower)
	}
	return lower
}

func joined(values []string) string {
	switch len(values) {
	case 0:
		return ""
	case 1:
		return values[0]
	}
	out := values[0]
	for _, v := range values[1:] {
		out += ", " + v
	}
	return out
}

// sortPairs sorts a list of name, value, name, value ... by name. The lists are
// short.
func sortPairs(kv []string) {
	for i := 2; i < len(kv); i += 2 {
		for j := i; j > 0 && kv[j] < kv[j-2]; j -= 2 {
			kv[j], kv[j-2] = kv[j-2], kv[j]
			kv[j+1], kv[j-1] = kv[j-1], kv[j+1]
		}
	}
}

// pairMap turns such a list into a map, nil when it is empty.
func pairMap(kv []string) map[string]string {
	if len(kv) == 0 {
		return nil
	}
	m := make(map[string]string, len(kv)/2)
	for pair := range slices.Chunk(kv, 2) {
		m[pair[0]] = pair[1]
	}
	return m
}
