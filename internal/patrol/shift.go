package patrol

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/lease"
	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// knownWait bounds the reading of what the store knows of all components.
	knownWait = 30 * time.Second
	// examineAgain is the pause after a probe of what a component was before.
	examineAgain = 100 * time.Millisecond
	// lateAfter is from which lag on the log tells it, and tellEvery how often it
	// tells anything that repeats.
	lateAfter = time.Second
	tellEvery = time.Minute
)

// shift is one hold of the lease, from taking to losing it.
type shift struct {
	*Patrol

	hold  *lease.Hold
	batch *batch
	ended chan ending // probes that have ended
	told  time.Time   // when the log last told of lag

	mu       sync.Mutex
	schedule *schedule
}

// ending is a probe that has ended.
type ending struct {
	of     *entry
	record registry.Record
	err    error // why there is no record
}

func (p *Patrol) newShift(hold *lease.Hold) *shift {
	s := &shift{Patrol: p, hold: hold, ended: make(chan ending), schedule: newSchedule()}
	s.batch = newBatch(s)
	return s
}

// run patrols until ctx is done, and returns nil then; or until nothing is
// registered any more: errVacant.
func (s *shift) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	return lease.Outlasting(ctx, func(parting context.Context) error {
		group.Go(func() error {
			defer s.batch.close()
			return s.patrol(ctx)
		})
		group.Go(func() error { return s.batch.run(ctx, parting) })
		group.Go(func() error { return s.trim(ctx) })
		err := group.Wait()
		s.batch.forsake(ctx)
		return err
	})
}

// patrol starts what is due and takes what has ended, until ctx is done or
// nothing is registered any more.
func (s *shift) patrol(ctx context.Context) error {
	if err := s.plan(ctx); err != nil {
		return err
	}
	s.note(func() { s.onDuty = s })
	s.observer.Holding(true)
	defer s.await()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case end := <-s.ended:
			s.finish(ctx, end)
		case <-s.reloads:
			if err := s.planAgain(); err != nil {
				return err
			}
			if !s.occupied() {
				return errVacant
			}
		}
		if wait := s.startDue(ctx); wait >= 0 {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
	}
}

// await breaks off the probes that still run, and waits for them.
func (s *shift) await() {
	s.mu.Lock()
	left := s.schedule.running
	for _, e := range s.schedule.entries {
		if e.running() {
			e.cancel()
		}
	}
	s.mu.Unlock()
	for range left {
		<-s.ended
	}
}

// startDue starts all that is due and may be probed now. It returns how long
// there is nothing more to start; less than 0 when that depends on a probe.
func (s *shift) startDue(ctx context.Context) time.Duration {
	limits := s.limited()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		now := time.Now()
		if !s.hold.Lasts(now) {
			return lease.BeatAgain
		}
		e, due := s.schedule.take(now, limits)
		switch {
		case e != nil:
			s.start(ctx, e, now)
		case due.IsZero():
			return -1
		default:
			return due.Sub(now)
		}
	}
}

func (s *shift) start(ctx context.Context, e *entry, now time.Time) {
	lag := now.Sub(e.due)
	s.observer.Started(lag)
	if lag > lateAfter && now.Sub(s.told) > tellEvery {
		s.told = now
		s.log.WarnContext(ctx, "the patrol is late; statuses become unknown when results grow too old",
			slog.Duration("lag", lag.Round(time.Millisecond)), slog.String("component", e.name), slog.Int("under_way", s.schedule.running))
	}
	ctx, cancel := context.WithCancel(ctx)
	s.schedule.begin(e, now, cancel)
	go func() {
		record, err := s.examiner.Examine(ctx, e.name)
		if err == nil {
			err = ctx.Err() // What was broken off says nothing about the component.
		}
		s.ended <- ending{e, record, err}
	}()
}

// finish takes what a probe found, and decides when the component is due again.
func (s *shift) finish(ctx context.Context, end ending) {
	e, now, limits := end.of, time.Now(), s.limited()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.schedule.end(e, limits)
	switch {
	case e.gone.Load():
		return
	case end.err != nil:
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "a component could not be probed", slog.String("component", e.name), slog.Any("cause", end.err))
		}
		e.reschedule(now)
	case end.record.Registration.Definition != e.definition:
		e.due = now.Add(examineAgain)
	default:
		summary := end.record.Summary
		s.observer.Examined(e.component.Kind(), summary)
		e.observe(&end.record)
		e.reschedule(now)
		s.batch.add(ctx, end.record, e)
	}
	s.schedule.again(e)
}

// plan makes the first schedule of a shift: the store knows when each component
// was probed last, whoever did it.
func (s *shift) plan(ctx context.Context) error {
	entries, _, err := s.compose()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, knownWait)
	defer cancel()
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.name
	}
	known, err := s.store.Known(ctx, names)
	if err != nil {
		return fmt.Errorf("read what is known of the components: %w", err)
	}
	standings := make(map[registry.Registration]registry.Standing, len(known))
	for _, one := range known {
		standings[one.Registration] = one.Standing
	}
	now := time.Now()
	var atOnce []*entry
	for _, e := range entries {
		known := standings[registry.Registration{Name: e.name, Kind: e.component.Kind(), Definition: e.definition}]
		if e.resume(known, now) {
			atOnce = append(atOnce, e)
		}
	}
	spread(atOnce, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.schedule.replace(entries)
	return nil
}

// planAgain adapts the schedule to what is registered now. Components that are
// what they were keep their due times.
func (s *shift) planAgain() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, atOnce, err := s.compose()
	if err != nil {
		return err
	}
	spread(atOnce, time.Now())
	s.schedule.replace(entries)
	return nil
}

// compose returns an entry for each component that is registered now, and which
// of them are due at once: those that are new, or are something else than they
// were, and those whose interval has become so short.
func (s *shift) compose() (entries, atOnce []*entry, err error) {
	registered, now := s.examiner.Registered(), time.Now()
	for i := range registered.Components {
		component := &registered.Components[i]
		definition, err := component.Definition()
		if err != nil {
			return nil, nil, err
		}
		e := s.schedule.entries[component.Name]
		if e == nil || e.definition != definition {
			e = &entry{name: component.Name, definition: definition, host: component.Spec.Host(), due: now}
			e.standing.RegisteredAt, e.told = now, registry.Probing
			atOnce = append(atOnce, e)
		}
		if e.adopt(component, now) {
			atOnce = append(atOnce, e)
		}
		entries = append(entries, e)
	}
	return entries, atOnce, nil
}
