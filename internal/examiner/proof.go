package examiner

import (
	"context"
	"encoding/json"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Probe probes a component now and records the result. Faults: NotFound,
// Unavailable when ctx ends before, or when the result cannot be recorded.
func (e *Examiner) Probe(ctx context.Context, name string) (registry.Examination, error) {
	return aboutPresent(e, func(present *present) (registry.Examination, error) {
		one, err := present.entry(name)
		if err != nil {
			return registry.Examination{}, err
		}
		flown, err := e.share(ctx, present, one, true)
		if err != nil {
			return registry.Examination{}, err
		}
		return registry.Examination{
			Reading: e.readingAfter(flown),
			Passed:  flown.record.Summary.Outcome == registry.OutcomePassed, Result: flown.record.Document,
			Drift: flown.drift, Trusted: flown.trusted,
		}, nil
	})
}

// readingAfter is the status that a result has led to. Where the store has passed
// the result over, since the component was redefined, it is that of the result
// alone.
func (e *Examiner) readingAfter(flown *flight) registry.Reading {
	known := flown.known
	if known.Registration != flown.of.registration {
		known = registry.Known{Standing: registry.Standing{RegisteredAt: flown.record.Summary.ProbedAt}.
			After(registry.SeenOf(flown.record.ID, flown.record.Summary), flown.record.Policy)}
	}
	return flown.of.component.ReadKnown(known, e.now())
}

// prove gets a result of each component, all at once: a stored one where reusable
// says so, and else by a probe now, which is recorded. Fault: Unavailable; also
// errRedefined.
func (e *Examiner) prove(ctx context.Context, present *present, names []string, reusable func(name string, last registry.Seen) bool) (map[string]registry.Probed, error) {
	var before map[string]registry.Known
	if reusable != nil {
		var err error
		if before, err = e.known(ctx, names); err != nil {
			return nil, err
		}
	}
	results := make([]registry.Probed, len(names))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(MaxProbes)
	for i, name := range names {
		all.Go(func() (err error) {
			known := before[name]
			results[i], err = e.proven(ctx, present, name, known, reusable != nil && reusable(name, known.Standing.Last))
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	found := make(map[string]registry.Probed, len(names))
	for i, name := range names {
		found[name] = results[i]
	}
	return found, nil
}

// proven gets the result of one component.
func (e *Examiner) proven(ctx context.Context, present *present, name string, known registry.Known, storedWillDo bool) (registry.Probed, error) {
	one, err := present.entry(name)
	if err != nil {
		return registry.Probed{}, err
	}
	if storedWillDo {
		if stored, ok := e.stored(ctx, one, known); ok {
			return stored, nil
		}
	}
	flown, err := e.share(ctx, present, one, true)
	if err != nil {
		return registry.Probed{}, err
	}
	return registry.Probed{ResultID: flown.record.ID, Summary: flown.record.Summary, Drift: flown.drift, Trusted: flown.trusted}, nil
}

// stored is the newest result, if it is whole and of what the component is now.
// Where it is not, or cannot be read, the component is probed.
func (e *Examiner) stored(ctx context.Context, one *entry, known registry.Known) (registry.Probed, bool) {
	if known.Registration != one.registration {
		return registry.Probed{}, false
	}
	kept, err := e.Store.Result(ctx, known.Standing.Last.ID)
	if err != nil || len(kept.Document) == 0 {
		return registry.Probed{}, false
	}
	result, err := registry.DecodeResult(kept.Kind, kept.Document)
	if err != nil {
		return registry.Probed{}, false
	}
	summary := result.Summary()
	if !result.Passed() || summary.ToolsDigest != "" && summary.Tools == nil { // left out for its size
		return registry.Probed{}, false
	}
	drift, err := e.drift(ctx, known.AcceptedDigest, summary.ToolsDigest, nil)
	return registry.Probed{ResultID: kept.ID, Summary: summary, Drift: drift, Reused: true}, err == nil
}

// known is what the store knows, by name; who was never registered is absent.
func (e *Examiner) known(ctx context.Context, names []string) (map[string]registry.Known, error) {
	if len(names) == 0 {
		return nil, nil
	}
	list, err := e.Store.Known(ctx, names)
	if err != nil {
		return nil, refused(err, "what is known of the components cannot be read")
	}
	known := make(map[string]registry.Known, len(list))
	for _, one := range list {
		known[one.Registration.Name] = one
	}
	return known, nil
}

// drift is how the present tools differ from the accepted ones; nil when they do
// not, or when there are none of either. Present tools that are nil are read from
// the store. Without a list the difference is there, but not what it is.
func (e *Examiner) drift(ctx context.Context, accepted, digest string, present []registry.Tool) (*registry.Drift, error) {
	if accepted == "" || digest == "" || accepted == digest {
		return nil, nil
	}
	before, err := e.toolList(ctx, accepted)
	if err != nil || before == nil {
		return &registry.Drift{}, err
	}
	if present == nil {
		if present, err = e.toolList(ctx, digest); err != nil || present == nil {
			return &registry.Drift{}, err
		}
	}
	drift := registry.DriftOf(before, present)
	return &drift, nil
}

// toolList returns the tools of a digest; nil when the store has given them up.
func (e *Examiner) toolList(ctx context.Context, digest string) ([]registry.Tool, error) {
	tools, err := e.Store.ToolList(ctx, digest)
	switch {
	case errors.Is(err, fault.NotFound):
		return nil, nil
	case err != nil:
		return nil, refused(err, "a list of tools cannot be read")
	}
	return tools, nil
}

// document is the newest result, whole; nil when there is none.
func (e *Examiner) document(ctx context.Context, id string) (json.RawMessage, registry.Kind, error) {
	if id == "" {
		return nil, "", nil
	}
	kept, err := e.Store.Result(ctx, id)
	switch {
	case errors.Is(err, fault.NotFound):
		return nil, "", nil
	case err != nil:
		return nil, "", refused(err, "the newest result cannot be read")
	}
	return kept.Document, kept.Kind, nil
}
