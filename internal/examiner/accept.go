package examiner

import (
	"context"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Accept accepts the tools that the newest result of a component brought home.
// Accepting what is accepted changes nothing. Faults: NotFound, WrongState when
// there are no such tools, or when they changed meanwhile, Unavailable.
func (e *Examiner) Accept(ctx context.Context, name string) (registry.Acceptance, error) {
	one, err := e.present.Load().entry(name)
	if err != nil {
		return registry.Acceptance{}, err
	}
	list, err := e.known(ctx, []string{name})
	if err != nil {
		return registry.Acceptance{}, err
	}
	if kind := one.registration.Kind; !kind.HasTools() {
		return registry.Acceptance{}, fault.New(fault.InvalidArgument, "%s is a %s, which has no tools to accept", name, kind).
			WithHint("Tools are accepted of components of the kinds %s.", kindsWithTools())
	}
	known := list[name]
	if known.Registration != one.registration || known.Standing.Last.ID == "" {
		return registry.Acceptance{}, nothingToAccept(name, "has not been probed as what it is now")
	}
	newest, err := e.broughtHome(ctx, known)
	if err != nil {
		return registry.Acceptance{}, err
	}
	digest := newest.ToolsDigest
	if digest == "" {
		return registry.Acceptance{}, nothingToAccept(name, "did not show its tools in its newest probe")
	}
	made := registry.Acceptance{Name: name, Was: known.AcceptedDigest, Digest: digest}
	if newest.Outcome != registry.OutcomePassed {
		made.Reason = newest.Reason
	}
	if made.Was == digest {
		return made, nil
	}
	if made.Drift, err = e.drift(ctx, made.Was, digest, nil); err != nil {
		return registry.Acceptance{}, err
	}
	if err := e.Store.Accept(ctx, name, digest, e.now()); err != nil {
		return registry.Acceptance{}, refused(err, "the acceptance cannot be recorded")
	}
	return made, nil
}

// kindsWithTools names them as part of a sentence.
func kindsWithTools() string {
	var names []string
	for _, kind := range registry.Kinds() {
		if kind.HasTools() {
			names = append(names, string(kind))
		}
	}
	return strings.Join(names, " and ")
}

func nothingToAccept(name, why string) error {
	return fault.New(fault.WrongState, "%s %s, so there are no tools to accept", name, why).
		WithHint("Probe it with `countersign probe %s`, then accept what it shows.", name)
}

// broughtHome is what the newest result says; the zero value when it is gone.
func (e *Examiner) broughtHome(ctx context.Context, known registry.Known) (registry.Summary, error) {
	document, kind, err := e.document(ctx, known.Standing.Last.ID)
	if err != nil || len(document) == 0 {
		return registry.Summary{}, err
	}
	result, err := registry.DecodeResult(kind, document)
	if err != nil {
		return registry.Summary{}, fmt.Errorf("read the newest result of %s: %w", known.Registration.Name, err)
	}
	return result.Summary(), nil
}
