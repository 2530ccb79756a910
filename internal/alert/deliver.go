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
	// lookAtLeast is how often a receiver is looked after without being woken, and
	// writeTries how often what came of an attempt is tried to be written.
	lookAtLeast = time.Minute
	writeTries  = 3
	// maxInLine is after how many alerts it is looked for more urgent ones.
	maxInLine = 100
)

// sender delivers to one receiver during a shift.
type sender struct {
	*Receiver

	wake  chan struct{} // there is something to be delivered
	until time.Time     // it is left alone
}

// again is how often what fires is sent again; 0 for never.
func (r *sender) again() time.Duration {
	if r.Protocol == Alertmanager {
		return remindEvery
	}
	return 0
}

// atOnce is how many alerts go into one request.
func (r *sender) atOnce() int {
	if r.Protocol == Alertmanager {
		return maxBatch
	}
	return 1
}

// mayHave reports whether something may be sent now, beside what is due: what is
// due, or what it is soon to be reminded of.
func (r *sender) mayHave(p *pending, now time.Time) bool {
	if p.reminder() && p.delivery.Attempts == 0 {
		now = now.Add(r.again() / 2)
	}
	return !p.due.After(now)
}

// deliverOn delivers what there is for a receiver, one request after the other, until
// ctx is done. What is under way then ends with sending. Its error is that
// the lease is lost.
func (s *shift) deliverOn(ctx, sending context.Context, r *sender) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	noting := trouble.Log{
		To: s.Log.With(slog.String("receiver", r.Name)), Level: slog.LevelWarn,
		Fails: "what was delivered to a receiver cannot be noted", Works: "what was delivered to a receiver can be noted again",
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		case <-timer.C:
		}
		wait, err := s.deliverDue(ctx, sending, r)
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

// deliverDue delivers what is due, and returns after what time there is more.
func (s *shift) deliverDue(ctx, sending context.Context, r *sender) (time.Duration, error) {
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
				return lookAtLeast, nil
			}
		}
		now := s.Now()
		switch {
		case isDone(ctx):
			return lookAtLeast, nil
		case !s.hold.Lasts(time.Now()):
			return lease.BeatAgain, nil
		case clamped(r.until, now).After(now):
			return min(r.until.Sub(now), lookAtLeast), nil
		case left[0].due.After(now):
			return min(left[0].due.Sub(now), lookAtLeast), nil
		}
		batch := 1
		for batch < min(r.atOnce(), len(left)) && r.mayHave(&left[batch], now) {
			batch++
		}
		if err := s.deliver(sending, r, left[:batch]); err != nil {
			return 0, err
		}
		left = left[batch:]
	}
}

func isDone(ctx context.Context) bool { return ctx.Err() != nil }

// deliver makes one attempt to deliver alerts to a receiver. The attempt is written
// before it is made: whoever comes after a crash tries again, and delivers at
// most once more, under the same id.
func (s *shift) deliver(ctx context.Context, r *sender, batch []pending) error {
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
	if err := s.writeDeliveries(ctx, held, begun); err != nil {
		return err
	}
	o := s.attempt(ctx, r, held, now)
	if ctx.Err() != nil {
		return nil // What came of it is not known.
	}
	if o.final && len(held) > 1 {
		for i := range held { // One of them may be refused for what it is.
			if err := s.deliver(ctx, r, held[i:i+1]); err != nil {
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
	return s.writeDeliveries(ctx, held, begun)
}

// attempt sends the request.
func (s *shift) attempt(ctx context.Context, r *sender, held []pending, now time.Time) outcome {
	made, err := maker{r.Receiver, s.settings.PublicURL, s.Resolve}.request(held, now)
	if err != nil {
		missing, _ := errors.AsType[unsent](err) // it always is one
		return outcome{err: missing.error, hint: missing.hint(), final: missing.final, notReceived: true}
	}
	began := time.Now()
	o := post(ctx, s.Client, made, now)
	if o.err == nil {
		s.Observer.Delivered(r.Name, time.Since(began))
	}
	return o
}

// judge logs what came of an attempt, and leaves a receiver alone that has not taken
// it.
func (s *shift) judge(ctx context.Context, r *sender, held []pending, o outcome, now time.Time) {
	if o.err == nil {
		r.until = time.Time{}
		var failed ReceiverState
		s.updateState(r.Name, func(seen *ReceiverState) { failed, *seen = *seen, ReceiverState{} })
		if failed.Failures > 0 {
			s.Log.InfoContext(ctx, "a receiver of alerts takes them again", slog.String("receiver", r.Name), slog.Int("failures", failed.Failures))
		}
		return
	}
	s.Observer.Failed(r.Name)
	seen := s.updateState(r.Name, func(seen *ReceiverState) {
		if seen.Failures++; seen.FailingSince.IsZero() {
			seen.FailingSince = now
		}
		seen.Reason, seen.Hint = o.err.Error(), o.hint
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

// writeDeliveries writes deliveries. Reminders are not worth a write: another process would
// only remind once more.
func (s *shift) writeDeliveries(ctx context.Context, held []pending, deliveries []Delivery) error {
	var written, reminders []Delivery
	for i := range held {
		if held[i].reminder() {
			reminders = append(reminders, deliveries[i])
		} else {
			written = append(written, deliveries[i])
		}
	}
	s.book.take(&Change{Deliveries: reminders})
	if len(written) == 0 {
		return nil
	}
	var err error
	for range writeTries {
		if err = s.write(ctx, &Change{Deliveries: written}); err == nil || errors.Is(err, registry.ErrLeaseLost) || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("write what was delivered: %w", err)
}

// begun is the delivery when an attempt begins.
func (p *pending) begun(now time.Time) Delivery {
	d := p.delivery
	if notification := p.notification(); d.Tried != notification && !p.reminder() {
		d.Tried, d.TriedSince, d.Attempts, d.GivenUp = notification, toMillisecond(now), 0, false
	}
	d.Attempts++
	d.Next = toMillisecond(now.Add(pauseAfter(d.Attempts, 0, p.alert.ID)))
	d.MayFire = d.MayFire || p.alert.State == Firing
	return d
}

// noted is the delivery when it is known what came of the attempt. An Alertmanager
// is sent what fires for as long as it fires.
func (p *pending) noted(d Delivery, protocol Protocol, o outcome, now time.Time) Delivery {
	if o.err == nil {
		return Delivery{Receiver: d.Receiver, Key: d.Key, Taken: p.notification(), TakenAt: toMillisecond(now), MayFire: p.alert.State == Firing}
	}
	d.Next = toMillisecond(now.Add(pauseAfter(d.Attempts, o.after, p.alert.ID)))
	if p.reminder() {
		return d
	}
	if o.notReceived {
		d.MayFire = p.delivery.MayFire
	}
	endless := protocol == Alertmanager && p.alert.State == Firing
	tried := now.Sub(d.TriedSince) >= GiveUpAfter && d.Attempts >= leastAttempts
	refused := p.inTheWay && o.refused() && d.Attempts >= leastAttempts
	d.GivenUp = o.final || refused || tried && !endless
	if d.GivenUp && p.alert.State == Resolved { // It must not keep back what fires next.
		d.MayFire, d.Taken, d.TakenAt = false, Notification{}, time.Time{}
	}
	return d
}
