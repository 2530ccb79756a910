package alert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/countersign-dev/countersign/internal/lease"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/trouble"
)

const (
	// tellAtLeast is how often a receiver is looked after without being woken, and
	// noteTries how often what came of an attempt is tried to be written.
	tellAtLeast = time.Minute
	noteTries   = 3
	// maxInLine is after how many alerts it is looked for more urgent ones.
	maxInLine = 100
)

// reception is a receiver during a shift.
type reception struct {
	*Receiver

	wake  chan struct{} // there is something to be told
	until time.Time     // it is left alone
}

// again is how often it is told again what fires; 0 for never.
func (r *reception) again() time.Duration {
	if r.Protocol == Alertmanager {
		return remindEvery
	}
	return 0
}

// atOnce is how many alerts it is told in one request.
func (r *reception) atOnce() int {
	if r.Protocol == Alertmanager {
		return maxBatch
	}
	return 1
}

// mayHave reports whether it may be told something now, beside what is due: what is
// due, or what it is soon to be reminded of.
func (r *reception) mayHave(p *pending, now time.Time) bool {
	if p.reminder() && p.delivery.Attempts == 0 {
		now = now.Add(r.again() / 2)
	}
	return !p.due.After(now)
}

// tellOn tells a receiver what there is to be told, one request after the other,
// until ctx is done. What is under way then ends with telling. Its error is that
// the lease is lost.
func (s *shift) tellOn(ctx, telling context.Context, r *reception) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	noting := trouble.Log{
		To: s.Log.With(slog.String("receiver", r.Name)), Level: slog.LevelWarn,
		Fails: "what a receiver of alerts is told cannot be noted", Works: "what a receiver of alerts is told can be noted again",
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		case <-timer.C:
		}
		wait, err := s.tellDue(ctx, telling, r)
		if errors.Is(err, registry.ErrLeaseLost) {
			return err
		}
		noting.Note(ctx, err)
		if err != nil {
			wait = lookEvery
		}
		timer.Reset(wait)
	}
}

// tellDue tells what is due, and returns after what time there is more.
func (s *shift) tellDue(ctx, telling context.Context, r *reception) (time.Duration, error) {
	var left []pending
	for {
		select {
		case <-r.wake: // what is new may be more urgent
			left = nil
		default:
		}
		if len(left) == 0 {
			left = s.book.pending(r.Receiver, r.again(), s.Now())
			if left = left[:min(len(left), maxInLine)]; len(left) == 0 {
				return tellAtLeast, nil
			}
		}
		now := s.Now()
		switch {
		case isDone(ctx):
			return tellAtLeast, nil
		case !s.hold.Lasts(time.Now()):
			return lease.BeatAgain, nil
		case clamped(r.until, now).After(now):
			return min(r.until.Sub(now), tellAtLeast), nil
		case left[0].due.After(now):
			return min(left[0].due.Sub(now), tellAtLeast), nil
		}
		batch := 1
		for batch < min(r.atOnce(), len(left)) && r.mayHave(&left[batch], now) {
			batch++
		}
		if err := s.tell(telling, r, left[:batch]); err != nil {
			return 0, err
		}
		left = left[batch:]
	}
}

func isDone(ctx context.Context) bool { return ctx.Err() != nil }

// tell makes one attempt to tell alerts to a receiver. The attempt is written
// before it is made: whoever comes after a crash tries again, and tells at most
// once more, under the same id.
func (s *shift) tell(ctx context.Context, r *reception, batch []pending) error {
	held := s.book.hold(batch)
	defer s.book.release(held)
	if len(held) == 0 {
		return nil
	}
	now := s.Now()
	begun := make([]Delivery, len(held))
	for i := range held {
		begun[i] = held[i].begun(now)
	}
	if err := s.noteAll(ctx, held, begun); err != nil {
		return err
	}
	o := s.attempt(ctx, r, held, now)
	if ctx.Err() != nil {
		return nil // What came of it is not known.
	}
	if o.final && len(held) > 1 {
		for i := range held { // One of them may be refused for what it is.
			if err := s.tell(ctx, r, held[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	now = s.Now()
	s.judge(ctx, r, held, o, now)
	for i := range held {
		begun[i] = held[i].noted(begun[i], r.Protocol, o, now)
		if begun[i].GivenUp {
			s.Observer.GivenUp(r.Name)
			s.Log.ErrorContext(ctx, "an alert could not be told and is given up", slog.String("receiver", r.Name), slog.String("alert", held[i].alert.Key),
				slog.String("state", string(held[i].alert.State)), slog.Int("attempts", begun[i].Attempts), slog.Any("cause", o.err))
		}
	}
	return s.noteAll(ctx, held, begun)
}

// attempt sends the request.
func (s *shift) attempt(ctx context.Context, r *reception, held []pending, now time.Time) outcome {
	made, err := maker{r.Receiver, s.settings.PublicURL, s.Resolve}.request(held, now)
	if err != nil {
		missing, _ := errors.AsType[unsent](err) // it always is one
		return outcome{err: missing.error, final: missing.final, unheard: true}
	}
	began := time.Now()
	o := post(ctx, s.Client, made, now)
	if o.err == nil {
		s.Observer.Delivered(r.Name, time.Since(began))
	}
	return o
}

// judge tells what came of an attempt, and leaves a receiver alone that cannot be
// told now.
func (s *shift) judge(ctx context.Context, r *reception, held []pending, o outcome, now time.Time) {
	if o.err == nil {
		r.until = time.Time{}
		var failed Reception
		s.receive(r.Name, func(seen *Reception) { failed, *seen = *seen, Reception{} })
		if failed.Failures > 0 {
			s.Log.InfoContext(ctx, "a receiver of alerts takes them again", slog.String("receiver", r.Name), slog.Int("failures", failed.Failures))
		}
		return
	}
	s.Observer.Failed(r.Name)
	seen := s.receive(r.Name, func(seen *Reception) {
		if seen.Failures++; seen.FailingSince.IsZero() {
			seen.FailingSince = now
		}
		seen.Reason = o.err.Error()
	})
	if !o.final {
		r.until = now.Add(pauseAfter(seen.Failures, o.after, r.Name))
	}
	level := slog.LevelDebug
	if seen.Failures == 1 {
		level = slog.LevelWarn
	}
	s.Log.Log(ctx, level, "a receiver has not taken an alert", slog.String("receiver", r.Name), slog.String("alert", held[0].alert.Key),
		slog.Int("alerts", len(held)), slog.Int("failures", seen.Failures), slog.Any("cause", o.err))
}

// noteAll writes deliveries. Reminders are not worth a write: another process would
// only remind once more.
func (s *shift) noteAll(ctx context.Context, held []pending, deliveries []Delivery) error {
	var written, remembered []Delivery
	for i := range held {
		if held[i].reminder() {
			remembered = append(remembered, deliveries[i])
		} else {
			written = append(written, deliveries[i])
		}
	}
	s.book.take(&Change{Deliveries: remembered})
	if len(written) == 0 {
		return nil
	}
	var err error
	for range noteTries {
		if err = s.write(ctx, &Change{Deliveries: written}); err == nil || errors.Is(err, registry.ErrLeaseLost) || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("write what was told: %w", err)
}

// begun is the delivery when an attempt begins.
func (p *pending) begun(now time.Time) Delivery {
	d := p.delivery
	if word := p.word(); d.Tried != word && !p.reminder() {
		d.Tried, d.TriedSince, d.Attempts, d.GivenUp = word, whole(now), 0, false
	}
	d.Attempts++
	d.Next = whole(now.Add(pauseAfter(d.Attempts, 0, p.alert.ID)))
	d.Heard = d.Heard || p.alert.State == Firing
	return d
}

// noted is the delivery when it is known what came of the attempt. An Alertmanager
// is told what fires for as long as it fires.
func (p *pending) noted(d Delivery, protocol Protocol, o outcome, now time.Time) Delivery {
	if o.err == nil {
		return Delivery{Receiver: d.Receiver, Key: d.Key, Told: p.word(), ToldAt: whole(now), Heard: p.alert.State == Firing}
	}
	d.Next = whole(now.Add(pauseAfter(d.Attempts, o.after, p.alert.ID)))
	if p.reminder() {
		return d
	}
	if o.unheard {
		d.Heard = p.delivery.Heard
	}
	endless := protocol == Alertmanager && p.alert.State == Firing
	tried := now.Sub(d.TriedSince) >= GiveUpAfter && d.Attempts >= leastAttempts
	d.GivenUp = o.final || tried && !endless
	if d.GivenUp && p.alert.State == Resolved { // It must not keep back what fires next.
		d.Heard, d.Told, d.ToldAt = false, Word{}, time.Time{}
	}
	return d
}
