package examiner

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// flightKey tells probes apart: one of a component that was redefined is another.
type flightKey struct{ name, definition string }

// flight is one probe under way, and those who wait for it.
type flight struct {
	of     *entry
	within registry.Network
	cancel context.CancelFunc
	hurry  chan struct{} // closed when it need not wait for room
	done   chan struct{} // closed when the rest is final

	begun  atomic.Bool // it has room
	record registry.Record
	err    error // why there is no record
	unkept error // why the record could not be kept, when somebody asked for that

	// Under the lock of the examiner:
	waiting  int  // who share it
	hurried  bool // hurry is closed
	recorded bool // somebody wants it recorded
}

// Examine probes a component and records nothing: who asks records many results
// at once, within limits of its own, and waits for no room. Faults: NotFound,
// Unavailable when ctx ends before the probe.
func (e *Examiner) Examine(ctx context.Context, name string) (registry.Record, error) {
	return aboutPresent(e, func(present *present) (registry.Record, error) {
		one, err := present.entry(name)
		if err != nil {
			return registry.Record{}, err
		}
		return e.share(ctx, present, one, false)
	})
}

// share joins the probe of a component that is under way, or begins one, and
// waits for it. For those who asked for it, it waits for room, and its result is
// recorded. The end of ctx ends the probe only for the caller, unless nobody else
// waits for it; then it has ended on return. Besides faults: errRedefined.
func (e *Examiner) share(ctx context.Context, present *present, one *entry, asked bool) (registry.Record, error) {
	if ctx.Err() != nil {
		return registry.Record{}, interrupted(ctx, one, "was not begun")
	}
	joined := e.join(ctx, present, one, asked)
	select {
	case <-joined.done:
	case <-ctx.Done():
		if e.leave(joined) {
			<-joined.done
		}
		if !joined.begun.Load() {
			return registry.Record{}, interrupted(ctx, one, fmt.Sprintf("still waited for one of %d others", cap(e.room)))
		}
		return registry.Record{}, interrupted(ctx, one, "had not ended")
	}
	switch {
	case joined.err != nil:
		return registry.Record{}, joined.err
	case asked && joined.unkept != nil:
		return registry.Record{}, unavailable(joined.unkept, "the result of the probe cannot be recorded, so it does not count")
	}
	return joined.record, nil
}

func interrupted(ctx context.Context, one *entry, what string) error {
	return fault.New(fault.Unavailable, "the probe of %s %s when the time for it was over", one.component.Name, what).
		WithCause(context.Cause(ctx)).WithHint("Try again, with more time.")
}

// join returns the flight to wait for, with the caller counted in.
func (e *Examiner) join(ctx context.Context, present *present, one *entry, asked bool) *flight {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := flightKey{one.component.Name, one.registration.Definition}
	shared, ok := e.flights[key]
	if !ok {
		flying, cancel := context.WithCancel(context.WithoutCancel(ctx))
		shared = &flight{
			of: one, within: present.whole.Network, cancel: cancel,
			hurry: make(chan struct{}), done: make(chan struct{}),
		}
		e.flights[key] = shared
		go e.fly(flying, shared)
	}
	shared.waiting++
	shared.recorded = shared.recorded || asked
	if !asked && !shared.hurried {
		shared.hurried = true
		close(shared.hurry)
	}
	return shared
}

// leave counts a caller out, and reports whether it was the last one.
func (e *Examiner) leave(left *flight) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	left.waiting--
	if left.waiting > 0 {
		return false
	}
	left.cancel()
	e.retire(left)
	return true
}

// retire keeps others from joining; the lock is held.
func (e *Examiner) retire(old *flight) {
	key := flightKey{old.of.component.Name, old.of.registration.Definition}
	if e.flights[key] == old {
		delete(e.flights, key)
	}
}

// fly carries the probe out and lets those who wait have what came of it.
func (e *Examiner) fly(ctx context.Context, flown *flight) {
	defer close(flown.done)
	defer flown.cancel()
	flown.record, flown.err = e.probed(ctx, flown)
	e.mu.Lock()
	e.retire(flown)
	wanted := flown.recorded && flown.err == nil
	e.mu.Unlock()
	if wanted {
		flown.unkept = e.Store.Record(ctx, nil, []registry.Record{flown.record})
	}
}

// probed waits for room, probes, and makes a record of the result. An interrupted
// probe has none: what it did not find out says nothing about the component.
func (e *Examiner) probed(ctx context.Context, flown *flight) (made registry.Record, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("probe %s: it ended in a panic: %v", flown.of.component.Name, thrown)
		}
	}()
	select {
	case e.room <- struct{}{}:
		defer func() { <-e.room }()
	case <-flown.hurry:
	case <-ctx.Done():
		return registry.Record{}, fmt.Errorf("wait for room to probe %s: %w", flown.of.component.Name, context.Cause(ctx))
	}
	flown.begun.Store(true)
	began, err := e.begin(flown.of)
	if err != nil {
		return registry.Record{}, err
	}
	result := e.examine(ctx, flown.of.component, probe.Settings{
		Version: e.Version, Now: func() time.Time { return began }, Eras: e.Eras,
		Network: flown.within, Resolve: e.Resolve, Transcripts: true,
	})
	if ctx.Err() != nil {
		return registry.Record{}, fmt.Errorf("probe %s: %w", flown.of.component.Name, context.Cause(ctx))
	}
	return recordOf(flown.of, result)
}

// recordOf is what is kept of a result.
func recordOf(one *entry, result registry.Result) (registry.Record, error) {
	document, tools, err := probe.Recorded(result)
	if err != nil {
		return registry.Record{}, fmt.Errorf("probe %s: %w", one.component.Name, err)
	}
	summary := result.Summary()
	id, err := newID(summary.ProbedAt)
	if err != nil {
		return registry.Record{}, err
	}
	return registry.Record{
		ID: id, Registration: one.registration, Policy: one.component.Policy(),
		Summary: summary, Document: document, ToolList: tools,
	}, nil
}

// newID makes the id of a result, which holds the millisecond at which the probe
// began (RFC 9562, section 5.7).
func newID(at time.Time) (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make the id of a result: %w", err)
	}
	for i := range 6 {
		id[i] = byte(at.UnixMilli() >> (40 - 8*i) & 0xff)
	}
	return id.String(), nil
}
