package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// reviewer looks for what is valid and yet likely to be regretted in what the
// keys mean together.
type reviewer struct {
	*Config

	resolver Resolver
	ttls     map[string]time.Duration // of the components
	slotted  map[string]bool          // the components that slots name
}

func newReviewer(c *Config, resolver Resolver) *reviewer {
	r := &reviewer{Config: c, resolver: resolver, ttls: map[string]time.Duration{}, slotted: map[string]bool{}}
	for i := range c.Components {
		r.ttls[c.Components[i].Name] = c.Components[i].Policy().TTL
	}
	for i := range c.Slots {
		for _, name := range c.Slots[i].Components() {
			r.slotted[name] = true
		}
	}
	return r
}

func (r *reviewer) doubts() []Problem {
	warnings := append(r.bounds(), r.alerts()...)
	warnings = append(warnings, r.canary("front/test/canary", r.Front.Canary)...)
	for i := range r.Components {
		warnings = append(warnings, r.component(&r.Components[i])...)
	}
	for i := range r.Slots {
		warnings = append(warnings, r.slot(&r.Slots[i])...)
	}
	for i := range r.Runs {
		warnings = append(warnings, r.run(&r.Runs[i])...)
	}
	return warnings
}

// component says what is doubtful about a component of any kind, and of its kind.
func (r *reviewer) component(component *registry.Component) []Problem {
	p, policy := path("components").child(component.Name), component.Policy()
	of, ok := r.decoder.kinds.of(string(component.Kind()))
	if !ok {
		return nil
	}
	warnings := of.doubts(r, p, component)
	if component.TTL > 0 && component.TTL < 2*policy.Interval {
		warnings = append(warnings, r.doubt(p.child("ttl"), "one probe that is late or lost makes the status unknown",
			"Write at least two intervals; it is three when the key is left out."))
	}
	warnings = append(warnings, r.timeout(p, component.Timeout, policy.Interval)...)
	if component.ProbingDeadline > 0 && component.ProbingDeadline < component.Timeout {
		warnings = append(warnings, r.doubt(p.child("probing_deadline"), "the status may be unknown before the first probe has ended",
			"Write a time that is longer than the timeout."))
	}
	return warnings
}

// timeout says that a component which hangs is not probed at its interval, so that
// results grow too old and its status is unknown at times.
func (r *reviewer) timeout(p path, timeout, interval time.Duration) []Problem {
	at := p.child("timeout")
	if timeout == 0 {
		at, timeout = p.child("interval"), registry.QuickTimeout
	}
	if timeout <= interval {
		return nil
	}
	return []Problem{r.doubt(at, fmt.Sprintf("a probe may take longer than the interval: the timeout is %v, and the interval %v", timeout, interval),
		"Make the timeout shorter, or the interval longer.")}
}

// slot says which component's results a slot relies on for longer than the
// component's status does.
func (r *reviewer) slot(slot *registry.Slot) []Problem {
	for _, name := range slot.Components() {
		if ttl := r.ttls[name]; slot.MaxAge > ttl {
			return []Problem{r.doubt(path("slots").child(slot.Name).child("max_age"),
				fmt.Sprintf("a result of %s does not count that long: its ttl is %v", name, ttl),
				"Write a shorter time, or leave out the key: the component is probed then.")}
		}
	}
	return nil
}

// run says that a run starts whatever is broken.
func (r *reviewer) run(run *registry.Run) []Problem {
	if slices.ContainsFunc(run.Slots, func(each registry.RunSlot) bool { return each.Required }) {
		return nil
	}
	return []Problem{r.doubtOfKey(path("runs").child(run.Name), "every slot is optional, so the run starts whatever is broken",
		"Make a slot required, if there is one that the run cannot do without.")}
}

// bounds says which bounds of the patrol and of the history do nothing.
func (r *reviewer) bounds() []Problem {
	var warnings []Problem
	if perHost := path("patrol/per_host"); r.has(perHost) && r.Patrol.PerHost > r.Patrol.Concurrency {
		warnings = append(warnings, r.doubt(perHost, fmt.Sprintf("concurrency permits only %d probes at once", r.Patrol.Concurrency),
			"Make one smaller or the other larger."))
	}
	if r.Retention.Hourly < r.Retention.Raw { // of which the file says at least one
		p := path("retention/hourly")
		if !r.has(p) {
			p = "retention/raw"
		}
		warnings = append(warnings, r.doubt(p, fmt.Sprintf("the hourly sums go before the results, which are kept for %v", r.Retention.Raw),
			"Make raw shorter, or hourly longer."))
	}
	return warnings
}

// has reports whether a key stands in the file.
func (r *reviewer) has(p path) bool {
	_, ok := r.decoder.places[p]
	return ok
}
