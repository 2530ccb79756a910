package alert

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/lease"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/trouble"
)

const (
	// recheckEvery is how often components whose alerts fire are read again, since
	// that one is steady is no event; claimsEvery how often claims that wait are
	// looked for, and tidyEvery how often alerts that are over are removed.
	recheckEvery = 10 * time.Second
	claimsEvery  = 5 * time.Second
	tidyEvery    = time.Minute
	// newestPreflights is among how many preflights of a run the newest that let it
	// start is looked for.
	newestPreflights = 20
)

// shift is one hold of the lease, from taking to losing it, with the same settings.
type shift struct {
	*Alerter

	hold      *lease.Hold
	reloaded  bool // there were other settings before, under the same hold
	settings  Settings
	receivers []*sender
	book      *book

	begun     bool // the feed has been joined
	index     index
	rechecked time.Time
	claimed   time.Time
	tidied    time.Time
	noRoom    bool // for an alert since components were last read again
}

func (a *Alerter) newShift(hold *lease.Hold) *shift {
	s := &shift{Alerter: a, hold: hold, settings: a.current()}
	if s.settings.PublicURL == "" {
		s.settings.PublicURL = a.URL
	}
	for i := range s.settings.Receivers {
		s.receivers = append(s.receivers, &sender{Receiver: &s.settings.Receivers[i], wake: make(chan struct{}, 1)})
	}
	return s
}

// follow makes alerts of what happens until ctx is done. Its error is that the
// lease is lost, or that there are other settings.
func (s *shift) follow(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	making := trouble.Log{To: s.Log, Level: slog.LevelError, Fails: "alerts cannot be made", Works: "alerts can be made again"}
	for {
		err := s.step(ctx)
		if errors.Is(err, registry.ErrLeaseLost) {
			return err
		}
		making.Note(ctx, err)
		select {
		case <-ctx.Done():
			return nil
		case <-s.reloads:
			return errReloaded
		case <-ticker.C:
		}
	}
}

// step does what is due.
func (s *shift) step(ctx context.Context) error {
	if !s.begun {
		if err := s.begin(ctx); err != nil {
			return err
		}
		s.begun = true
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	for _, each := range []struct {
		last  *time.Time
		every time.Duration
		do    func(context.Context) error
	}{{&s.rechecked, recheckEvery, s.recheck}, {&s.claimed, claimsEvery, s.claims}, {&s.tidied, tidyEvery, s.tidy}} {
		now := time.Now()
		if now.Sub(*each.last) < each.every {
			continue
		}
		if err := each.do(ctx); err != nil {
			return err
		}
		*each.last = now
	}
	return nil
}

// begin joins the feed where it was left, or else at its newest event: of what has
// been before nothing is alerted, but for components that are unavailable now.
func (s *shift) begin(ctx context.Context) error {
	if formerReceivers := s.book.formerReceivers(s.settings.Receivers); len(formerReceivers) > 0 {
		if err := s.write(ctx, &Change{Forgotten: formerReceivers}); err != nil {
			return err
		}
	}
	before, newest, err := s.ends(ctx)
	if err != nil {
		return err
	}
	at := s.book.position
	switch {
	case at == nil:
		return s.write(ctx, &Change{Move: &Move{To: newest}})
	case at.Before(before): // What happened in between is not kept any more.
		var runs []string
		for _, run := range s.Registry.Registered().Runs {
			runs = append(runs, run.Name)
		}
		made, err := s.runs(ctx, runs)
		if err != nil {
			return err
		}
		return s.make(ctx, made, &Move{From: at, To: before})
	}
	return nil
}

func (s *shift) ends(ctx context.Context) (before, newest feed.Position, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	return s.Feed.Ends(ctx)
}

// read makes alerts of all events that are new.
func (s *shift) read(ctx context.Context) error {
	for {
		at := s.book.position
		reading, cancel := context.WithTimeout(ctx, storeWait)
		events, err := s.Feed.Events(reading, *at, feed.MaxEvents)
		cancel()
		if err != nil || len(events) == 0 {
			return err
		}
		made, err := s.made(ctx, events)
		if err != nil {
			return err
		}
		if err := s.make(ctx, made, &Move{From: at, To: events[len(events)-1].ID}); err != nil {
			return err
		}
		if len(events) < feed.MaxEvents {
			return nil
		}
	}
}

// made returns the alerts that change by what some events are about.
func (s *shift) made(ctx context.Context, events []feed.Event) ([]Alert, error) {
	var components, runs []string
	verdicts := false
	for _, event := range events {
		switch event.Kind {
		case feed.Component:
			if !slices.Contains(components, event.Subject) {
				components = append(components, event.Subject)
			}
		case feed.Run:
			if event.What != feed.Refused && !slices.Contains(runs, event.Subject) {
				runs = append(runs, event.Subject)
			}
		case feed.Task:
			verdicts = verdicts || event.What == string(task.Verified) || event.What == string(task.Rejected)
		}
	}
	made, err := s.components(ctx, components)
	if err != nil {
		return nil, err
	}
	ofRuns, err := s.runs(ctx, runs)
	if err != nil || !verdicts {
		return append(made, ofRuns...), err
	}
	decided, err := s.decided(ctx)
	return slices.Concat(made, ofRuns, decided), err
}

// make writes alerts, as many as there is room for, together with a step along the
// feed, and has them delivered.
func (s *shift) make(ctx context.Context, made []Alert, move *Move) error {
	admitted, refused := s.book.admit(made)
	s.book.replace(admitted, s.settings.Receivers, s.Now())
	s.noRoom = s.noRoom || refused
	for len(admitted) > MaxWritten {
		if err := s.write(ctx, &Change{Alerts: admitted[:MaxWritten]}); err != nil {
			return err
		}
		s.announce(ctx, admitted[:MaxWritten])
		admitted = admitted[MaxWritten:]
	}
	if len(admitted) == 0 && move == nil {
		return nil
	}
	if err := s.write(ctx, &Change{Alerts: admitted, Move: move}); err != nil {
		return err
	}
	s.announce(ctx, admitted)
	return nil
}

// announce logs what was made, and wakes the senders.
func (s *shift) announce(ctx context.Context, made []Alert) {
	for i := range made {
		s.Log.InfoContext(ctx, "an alert has changed", slog.String("alert", made[i].Key), slog.String("state", string(made[i].State)),
			slog.String("id", made[i].ID), slog.String("summary", made[i].Summary()))
	}
	s.Observer.Firing(s.book.counts())
	for _, r := range s.receivers {
		select {
		case r.wake <- struct{}{}:
		default: // it is to look already
		}
	}
}

// components returns the alerts that change by what components are now. Of those
// that are not registered an alert ends.
func (s *shift) components(ctx context.Context, names []string) ([]Alert, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if err := s.index.update(s.Registry.Registered()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	known, err := s.History.Known(ctx, names)
	if err != nil {
		return nil, err
	}
	found := make(map[string]registry.Known, len(known))
	for i := range known {
		found[known[i].Registration.Name] = known[i]
	}
	var changed []Alert
	now := s.Now()
	for _, name := range names {
		before := s.before(OfComponent, name)
		reading, registered := s.index.read(name, found[name], now)
		if !registered {
			if before != nil && before.State == Firing {
				changed = append(changed, before.ended(now, now, name+" is not registered any more"))
			}
			continue
		}
		made, changes, err := ofComponent(before, &reading, now)
		switch {
		case err != nil:
			return nil, err
		case changes:
			changed = append(changed, made)
		}
	}
	return changed, nil
}

// before returns the alert of a subject; nil when there is none.
func (s *shift) before(kind Kind, subject string) *Alert {
	found, is := s.book.alert(keyOf(kind, subject))
	if !is {
		return nil
	}
	return &found
}

// runs returns the alerts that change by the newest preflights that let runs start.
func (s *shift) runs(ctx context.Context, names []string) ([]Alert, error) {
	var changed []Alert
	now := s.Now()
	for _, name := range names {
		reading, cancel := context.WithTimeout(ctx, storeWait)
		kept, err := s.History.Preflights(reading, name, registry.PreflightPlace{}, newestPreflights)
		cancel()
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(kept, func(k registry.KeptPreflight) bool { return k.Preflight.Allowed })
		if i < 0 {
			continue
		}
		made, changes, err := ofRun(s.before(OfRun, name), &kept[i], now)
		switch {
		case err != nil:
			return nil, err
		case changes:
			changed = append(changed, made)
		}
	}
	return changed, nil
}
