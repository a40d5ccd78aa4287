package judge_test

import "net/http"

// counting notes how many requests are under way at the same time. gate holds
// one token, which guards the counts.
type counting struct {
	next func(*http.Request) (*http.Response, error)
	gate chan struct{}
	now  *int
	most *int
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.add(1)
	defer c.add(-1)
	return c.next(r)
}

func (c counting) add(n int) {
	<-c.gate
	*c.now += n
	*c.most = max(*c.most, *c.now)
	c.gate <- struct{}{}
}
