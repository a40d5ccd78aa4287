package redact

// undecoded stands in place of a text that could not be searched.
const undecoded = "[redacted:" + markDropped + "]"

// fenced runs what goes through bytes from outside, and says whether it came to
// its end: a fault of ours costs one text, not the drainer its life, again with
// each start.
func fenced(search func()) (ok bool) {
	defer func() { ok = recover() == nil }()
	search()
	return true
}
