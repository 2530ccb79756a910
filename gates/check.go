package gates

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// grace is how long a check may take, once its time is over, to stop and say so.
const grace = time.Second

const detailNotConfigured = "not configured"

// finding is what a check found out. The detail is shown to anyone.
type finding struct {
	present bool
	works   bool
	path    string
	version string
	detail  string
}

// result is a finding with its age.
type result struct {
	finding
	latency time.Duration
	at      time.Time // when the check ended
}

// check runs the check of one dependency for any number of callers: one at a
// time, and not again while its result is young.
type check struct {
	Dependency
	cacheFor time.Duration
	timeout  time.Duration

	mu     sync.Mutex
	last   *result   // of the newest flight
	flight *flight   // what callers wait for; nil when nobody waits
	began  time.Time // when the execution that has not returned began; zero when none
}

// flight is one execution that several callers wait for.
type flight struct {
	landed chan struct{}
	result result // valid once landed is closed
}

// result returns the cached result while it is young, else that of a new
// execution, at the latest when the check's time and the grace are over. The
// caller that starts an execution stays with it even when its request is
// cancelled, so that a server that drains its requests drains its checks.
func (c *check) result(ctx context.Context) result {
	c.mu.Lock()
	if c.last != nil && time.Since(c.last.at) < c.cacheFor {
		defer c.mu.Unlock()
		return *c.last
	}
	joined := c.flight
	if joined == nil {
		c.flight = &flight{landed: make(chan struct{})}
		began := c.began
		c.mu.Unlock()
		return c.land(c.execute(context.WithoutCancel(ctx), began))
	}
	c.mu.Unlock()
	<-joined.landed
	return joined.result
}

// land hands the result to everyone who waits for it.
func (c *check) land(landed result) result {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = &landed
	c.flight.result = landed
	close(c.flight.landed)
	c.flight = nil
	return landed
}

// execute runs the check once. A check that ignores its context is given up on,
// and not started again before it has returned: hanging checks do not pile up.
func (c *check) execute(ctx context.Context, unreturned time.Time) result {
	began := time.Now()
	if !unreturned.IsZero() {
		return c.concluded(finding{
			present: true,
			detail:  fmt.Sprintf("a check that began %s ago ignores its deadline and still runs", began.Sub(unreturned).Round(time.Second)),
		}, unreturned)
	}
	c.mu.Lock()
	c.began = began
	c.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	found := make(chan finding, 1)
	go c.run(ctx, found)
	giveUp := time.NewTimer(c.timeout + grace)
	defer giveUp.Stop()
	select {
	case f := <-found:
		return c.concluded(f, began)
	case <-giveUp.C:
		return c.concluded(finding{present: true, detail: fmt.Sprintf("no answer within %s", c.timeout)}, began)
	}
}

func (*check) concluded(f finding, began time.Time) result {
	f.detail, f.version = presentable(f.detail), presentable(f.version)
	now := time.Now()
	return result{finding: f, latency: now.Sub(began), at: now}
}

// run delivers exactly one finding, whatever the check does.
func (c *check) run(ctx context.Context, found chan<- finding) {
	f := finding{present: true, detail: "the check ended without a result"}
	defer func() {
		if reason := recover(); reason != nil {
			f = finding{present: true, detail: fmt.Sprintf("the check panicked: %v", reason)}
		}
		c.mu.Lock()
		c.began = time.Time{}
		c.mu.Unlock()
		found <- f
	}()
	if c.kind == nil {
		f = finding{detail: detailNotConfigured}
		return
	}
	f = c.kind.check(ctx)
}
