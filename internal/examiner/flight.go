package examiner

import (
	"context"
	"errors"
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

// flight is a probe that is shared.
type flight struct {
	of     *entry
	within registry.Network
	hurry  chan struct{} // closed when it need not wait for room
	begun  atomic.Bool   // it has room, or needs none

	// Under the lock of the sharing, until it has landed:
	hurried bool // hurry is closed
	asked   bool // somebody asked for it, so that it is recorded

	record registry.Record
	unkept error // why it is not recorded
	// Once it is recorded:
	known registry.Known // what the store made of it
	drift *registry.Drift
	// trusted says that the tools were accepted with this result.
	trusted bool
}

// Examine probes a component and records nothing: who calls it records many
// results at once, and has limits of its own, so that it waits for no room.
// Faults: NotFound, Unavailable when ctx ends before the probe.
func (e *Examiner) Examine(ctx context.Context, name string) (registry.Record, error) {
	return aboutPresent(e, func(present *present) (registry.Record, error) {
		one, err := present.entry(name)
		if err != nil {
			return registry.Record{}, err
		}
		flown, err := e.share(ctx, present, one, false)
		if err != nil {
			return registry.Record{}, err
		}
		return flown.record, nil
	})
}

// share joins the probe of a component that is under way, or begins one, and
// waits for it. For those who asked for it, it waits for room, and its result is
// recorded. Fault: Unavailable; also errRedefined.
func (e *Examiner) share(ctx context.Context, present *present, one *entry, asked bool) (*flight, error) {
	flown, err := e.flights.do(ctx, flightKey{one.component.Name, one.registration.Definition},
		func() *flight {
			return &flight{of: one, within: present.whole.Network, hurry: make(chan struct{})}
		},
		func(joined *flight) {
			joined.asked = joined.asked || asked
			if !asked && !joined.hurried {
				joined.hurried = true
				close(joined.hurry)
			}
		}, e.fly)
	switch {
	case errors.Is(err, errLeft):
		return nil, e.late(ctx, one, flown)
	case err != nil:
		return nil, fmt.Errorf("probe %s: %w", one.component.Name, err)
	case asked && flown.unkept != nil:
		return nil, refused(flown.unkept, "the result of the probe cannot be recorded, so it does not count")
	}
	return flown, nil
}

// late is the fault of a probe that did not end in the caller's time; flown is nil
// when it was not begun.
func (e *Examiner) late(ctx context.Context, one *entry, flown *flight) error {
	what := "had not ended"
	switch {
	case flown == nil:
		what = "was not begun"
	case !flown.begun.Load():
		what = fmt.Sprintf("still waited for one of %d others", cap(e.room))
	}
	return leaving(ctx, fmt.Sprintf("the probe of %s %s", one.component.Name, what))
}

// leaving is the fault of what had not ended when its caller left: the time was
// over, or somebody interrupted it.
func leaving(ctx context.Context, what string) error {
	when, hint := "the time for it was over", "Try again, with more time."
	if errors.Is(ctx.Err(), context.Canceled) {
		when, hint = "it was interrupted", "Try again."
	}
	return fault.New(fault.Unavailable, "%s when %s", what, when).WithCause(context.Cause(ctx)).WithHint("%s", hint)
}

// fly carries a probe out.
func (e *Examiner) fly(ctx context.Context, flown *flight, land func()) error {
	if err := e.probed(ctx, flown); err != nil {
		return err
	}
	land()
	if flown.asked {
		flown.unkept = e.keep(ctx, flown)
	}
	return nil
}

// probed waits for room, probes, and makes a record of the result. An interrupted
// probe has none: what it did not find out says nothing about the component.
func (e *Examiner) probed(ctx context.Context, flown *flight) error {
	select {
	case e.room <- struct{}{}:
		defer func() { <-e.room }()
	case <-flown.hurry:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	flown.begun.Store(true)
	began, err := e.begin(flown.of)
	if err != nil {
		return err
	}
	ctx, span := e.span(ctx, flown.of.component)
	defer span.End()
	result := e.examine(ctx, flown.of.component, probe.Settings{
		Version: e.Version, Now: func() time.Time { return began }, Eras: e.Eras,
		Network: flown.within, Resolve: e.Resolve, Transcripts: true, Purse: e.purseOf(flown.of.component),
	})
	summary := result.Summary()
	e.note(ctx, span, &summary, ctx.Err() != nil)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	flown.record, err = recordOf(flown.of, result)
	return err
}

// keep records the result, and finds out what has become of the component.
func (e *Examiner) keep(ctx context.Context, flown *flight) error {
	if err := e.Store.Record(ctx, nil, []registry.Record{flown.record}); err != nil {
		return err
	}
	name := flown.of.component.Name
	known, err := e.known(ctx, []string{name})
	if err != nil {
		return err
	}
	flown.known = known[name]
	if flown.trusted = flown.known.TrustedWith(flown.record); flown.trusted {
		e.Log.InfoContext(ctx, "tools accepted at first sight", "component", name, "digest", flown.known.AcceptedDigest)
	}
	flown.drift, err = e.drift(ctx, flown.known.AcceptedDigest, flown.record.Summary.ToolsDigest, flown.record.ToolList)
	return err
}

// recordOf is what is kept of a result.
func recordOf(one *entry, result registry.Result) (registry.Record, error) {
	document, tools, err := probe.Recorded(result)
	if err != nil {
		return registry.Record{}, err
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
