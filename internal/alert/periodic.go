package alert

import (
	"context"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// recheck reads the components again whose alerts fire, since that one is steady
// or not registered any more is no event; and all of them at the beginning, and as
// long as there is no room for alerts.
func (s *shift) recheck(ctx context.Context) error {
	now := s.Now()
	if err := s.make(ctx, expired(s.book.firing(OfRun), now), nil); err != nil {
		return err
	}
	refused := s.noRoom
	made, err := s.components(ctx, s.toRecheck(refused || s.rechecked.IsZero()))
	if err != nil {
		return err
	}
	s.noRoom = false
	if err := s.make(ctx, made, nil); err != nil {
		s.noRoom = s.noRoom || refused
		return err
	}
	tooMany, changes, err := ofTooMany(s.before(OfAlerts, "open"), refused || s.noRoom, s.book.room(), s.MaxOpen, now)
	if err != nil || !changes {
		return err
	}
	return s.keep(ctx, tooMany)
}

// toRecheck is the names of the components whose alerts fire, or of all that are registered too.
func (s *shift) toRecheck(all bool) []string {
	var names []string
	for _, a := range s.book.firing(OfComponent) {
		names = append(names, a.Subject)
	}
	if !all {
		return names
	}
	registered := s.Registry.Registered()
	for i := range registered.Components {
		name := registered.Components[i].Name
		if before := s.before(OfComponent, name); before == nil || before.State == Resolved {
			names = append(names, name)
		}
	}
	return names
}

// keep writes an alert for which there is always room.
func (s *shift) keep(ctx context.Context, a Alert) error {
	made := []Alert{a}
	s.book.replace(made, s.settings.Receivers, s.Now())
	if err := s.write(ctx, &Change{Alerts: made}); err != nil {
		return err
	}
	s.announce(ctx, made)
	return nil
}

// claims ends the alerts of claims that have their verdict, and makes those of
// claims that wait for too long.
func (s *shift) claims(ctx context.Context) error {
	over, err := s.decided(ctx)
	if err != nil {
		return err
	}
	now := s.Now()
	if s.settings.ClaimWaits <= 0 || !s.settings.wanted(OfTask) {
		for _, a := range s.book.firing(OfTask) {
			over = append(over, a.ended(now, now, "claims that wait are not alerted any more"))
		}
		return s.make(ctx, over, nil)
	}
	if err := s.make(ctx, over, nil); err != nil {
		return err
	}
	return s.claimsThatWait(ctx, now)
}

// claimsThatWait makes the alerts of claims that wait and have none yet, or one of all when
// they are many. Either is written whole.
func (s *shift) claimsThatWait(ctx context.Context, now time.Time) error {
	many, own, limit := s.before(OfTask, ofMany), s.book.counts()[string(OfTask)], MaxWritten
	if many != nil && many.State == Firing {
		own, limit = own-1, FewClaims+1
	}
	waiting, err := s.waiting(ctx, now.Add(-s.settings.ClaimWaits), limit)
	if err != nil {
		return err
	}
	made, err := ofClaims(many, waiting, own, s.settings.ClaimWaits, now)
	if err != nil {
		return err
	}
	return s.make(ctx, made, nil)
}

func (s *shift) waiting(ctx context.Context, before time.Time, limit int) ([]Claim, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	return s.Store.Waiting(ctx, before, limit)
}

// decided returns the alerts that end with the verdicts on their claims.
func (s *shift) decided(ctx context.Context) ([]Alert, error) {
	if len(s.book.firing(OfTask)) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	verdicts, err := s.Store.Decided(ctx, MaxWritten)
	if err != nil {
		return nil, err
	}
	var over []Alert
	now := s.Now()
	for _, verdict := range verdicts {
		if before := s.before(OfTask, string(verdict.TaskID)); before != nil && before.State == Firing {
			over = append(over, before.ended(verdict.At, now, "the claim was "+string(verdict.Status)))
		}
	}
	return over, nil
}

// tidy removes alerts that need not be kept any more.
func (s *shift) tidy(ctx context.Context) error {
	for {
		gone := s.book.removable(s.Now(), s.settings.Receivers, MaxWritten)
		if len(gone) == 0 {
			return nil
		}
		if err := s.write(ctx, &Change{Gone: gone}); err != nil {
			return err
		}
	}
}

// index finds the components of the registered set by their names.
type index struct {
	of    *registry.Registered
	names map[string]indexed
}

type indexed struct {
	component    *registry.Component
	registration registry.Registration
}

func (x *index) update(registered *registry.Registered) error {
	if x.of == registered {
		return nil
	}
	names := make(map[string]indexed, len(registered.Components))
	for i := range registered.Components {
		component := &registered.Components[i]
		registration, err := component.Registration()
		if err != nil {
			return err
		}
		names[component.Name] = indexed{component, registration}
	}
	x.of, x.names = registered, names
	return nil
}

// read is the status of a component, and whether it is registered.
func (x *index) read(name string, known registry.Known, now time.Time) (registry.Reading, bool) {
	found, is := x.names[name]
	if !is {
		return registry.Reading{}, false
	}
	return found.component.ReadAs(found.registration, known, now), true
}
