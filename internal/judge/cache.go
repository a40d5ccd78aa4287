package judge

import (
	"sync"
	"time"
)

// cache remembers answers to identical questions about identical content.
type cache struct {
	window time.Duration
	limit  int
	now    func() time.Time

	mu      sync.Mutex // guards what follows
	entries map[string]cached
	order   []string // oldest first
}

type cached struct {
	reply reply
	until time.Time
}

func newCache(window time.Duration, limit int, now func() time.Time) *cache {
	return &cache{window: window, limit: limit, now: now, entries: map[string]cached{}}
}

// key covers everything that is sent, and to whom; "" when nothing is
// remembered. What a program decides is not: that is as quick.
func (c *cache) key(p *prepared, asking *call) string {
	if c.window <= 0 || c.limit == 0 || asking.member.profile.format == formatRule {
		return ""
	}
	type asked struct{ Key, Text, Statement, Yes, No, Purpose string }
	var questions []asked
	for _, q := range asking.questions {
		questions = append(questions, asked{q.key, q.text + "\x00" + q.criterion.Text, q.statement, q.yesWhen, q.noWhen, q.purpose})
	}
	var images []string
	for _, i := range asking.shown.images {
		images = append(images, i.part.SHA256+i.url, deref(i.detail, ""))
	}
	return fullDigest([]any{asking.member.name, p.configs[asking.member.name], asking.shown.state, questions, images, namesOf(asking.questions)})
}

// namesOf lists criteria by name: a static judge answers by it.
func namesOf(questions []question) []string {
	out := make([]string, len(questions))
	for i, q := range questions {
		out[i] = q.criterion.key()
	}
	return out
}

func (c *cache) get(key string) (reply, bool) {
	if key == "" {
		return reply{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok || !c.now().Before(e.until) {
		return reply{}, false
	}
	r := e.reply
	r.latency, r.attempts, r.inputTokens, r.outputTokens = 0, 0, nil, nil
	return r, true
}

// put remembers a reply that answers every question. A probability that is
// missing today may be there tomorrow.
func (c *cache) put(key string, r reply) {
	if key == "" || r.err != nil {
		return
	}
	for _, a := range r.answers {
		if a.p == nil {
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[key]; !ok {
		c.order = append(c.order, key)
	}
	c.entries[key] = cached{reply: r, until: c.now().Add(c.window)}
	for len(c.order) > c.limit {
		delete(c.entries, c.order[0])
		c.order = c.order[1:]
	}
}
