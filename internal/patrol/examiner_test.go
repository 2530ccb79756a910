package patrol_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// start is one probe that was made.
type start struct {
	name string
	at   time.Time
}

// answer makes the result of a probe.
type answer func(ctx context.Context, component *registry.Component) (registry.Summary, error)

// examiner answers probes as a test says, and remembers when they began.
type examiner struct {
	mu         sync.Mutex
	answer     answer
	registered *registry.Registered
	present    map[string]registration
	starts     []start
	running    map[string]int // by host; "" for all
	most       map[string]int // the most at once
	made       int
}

type registration struct {
	component *registry.Component
	of        registry.Registration
}

func newExaminer(t *testing.T, components ...registry.Component) *examiner {
	t.Helper()
	x := &examiner{running: map[string]int{}, most: map[string]int{}}
	x.answers(func(context.Context, *registry.Component) (registry.Summary, error) { return passed(), nil })
	x.use(t, components...)
	return x
}

// note reads or changes what the examiner remembers.
func (x *examiner) note(do func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	do()
}

// answers changes what probes answer from now on.
func (x *examiner) answers(how answer) { x.note(func() { x.answer = how }) }

func (x *examiner) use(t *testing.T, components ...registry.Component) {
	t.Helper()
	present := map[string]registration{}
	for i := range components {
		present[components[i].Name] = registration{&components[i], registrationOf(t, &components[i])}
	}
	x.note(func() { x.registered, x.present = &registry.Registered{Components: components}, present })
}

func registrationOf(t *testing.T, component *registry.Component) registry.Registration {
	t.Helper()
	definition, err := component.Definition()
	if err != nil {
		t.Fatal(err)
	}
	return registry.Registration{Name: component.Name, Kind: component.Kind(), Definition: definition}
}

func (x *examiner) Registered() *registry.Registered {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.registered
}

func (x *examiner) Examine(ctx context.Context, name string) (registry.Record, error) {
	began := time.Now()
	x.mu.Lock()
	found, ok := x.present[name]
	if !ok {
		x.mu.Unlock()
		return registry.Record{}, fault.New(fault.NotFound, "there is no component %q", name)
	}
	x.made++
	id := fmt.Sprintf("%p-%08d", x, x.made)
	x.starts = append(x.starts, start{name, began})
	x.count(found.component.Spec.Host(), 1)
	answer := x.answer
	x.mu.Unlock()
	summary, err := answer(ctx, found.component)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.count(found.component.Spec.Host(), -1)
	summary.ProbedAt = began
	return registry.Record{ID: id, Registration: found.of, Policy: found.component.Policy(), Summary: summary}, err
}

func (x *examiner) count(host string, by int) {
	for _, of := range []string{host, ""} {
		x.running[of] += by
		x.most[of] = max(x.most[of], x.running[of])
	}
}

// probes returns the probes that were made.
func (x *examiner) probes() (made []start) {
	x.note(func() { made = slices.Clone(x.starts) })
	return made
}

// began returns when the probes of a component began; of all, for "".
func (x *examiner) began(name string) []time.Time {
	var times []time.Time
	for _, one := range x.probes() {
		if name == "" || one.name == name {
			times = append(times, one.at)
		}
	}
	return times
}

// forget forgets the probes made so far.
func (x *examiner) forget() { x.note(func() { x.starts = nil }) }

func passed() registry.Summary {
	return registry.Summary{Outcome: registry.OutcomePassed, Causes: []registry.Cause{}}
}

func failed() registry.Summary {
	return registry.Summary{Outcome: registry.OutcomeFailed, Causes: []registry.Cause{registry.Refused}}
}

// wait is a probe that takes a time, unless it is broken off.
func wait(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
		return nil
	}
}
