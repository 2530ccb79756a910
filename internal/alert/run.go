package alert

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// lookEvery is how often the feed is read, and the lease by who does not hold it.
	lookEvery = time.Second
	// takeAfter is how long, by its own clock, the lease must have stood still before
	// another process takes it: three beats.
	takeAfter = 6 * time.Second
	beatEvery = 2 * time.Second
	beatAgain = 500 * time.Millisecond
	// beatLost is how old the last sign of life may be before nothing more is told:
	// less than takeAfter.
	beatLost = 5 * time.Second
	// storeWait bounds each call of the store, and loadWait the reading of all.
	storeWait = 10 * time.Second
	loadWait  = time.Minute
	// partingWait bounds what is still told once the alerter is to end.
	partingWait = 5 * time.Second
)

// errReloaded says that there are other settings.
var errReloaded = errors.New("there are other settings")

// Run alerts, or stands by while another process does, until ctx is done. It then
// gives the lease back and returns nil. It is to be called once.
func (a *Alerter) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if len(a.current().Receivers) == 0 {
			// A process that tells nobody must not keep the lease from one that does.
			select {
			case <-ctx.Done():
			case <-a.reloads:
			}
			continue
		}
		if lease, taken := a.standBy(ctx); taken {
			a.serve(ctx, lease)
		}
	}
	return nil
}

// watch is what a process that does not alert has seen of the lease.
type watch struct {
	lease registry.Lease
	since time.Time // when the lease was first seen like this
	quiet bool      // that it cannot be read has been told
}

// standBy returns with the lease once it is free, or has stood still for too long;
// or without it when ctx is done or there are other settings.
func (a *Alerter) standBy(ctx context.Context) (registry.Lease, bool) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var seen watch
	for {
		select {
		case <-ctx.Done():
			return registry.Lease{}, false
		case <-a.reloads:
			return registry.Lease{}, false
		case <-timer.C:
		}
		lease, taken, err := a.look(ctx, &seen)
		if taken {
			a.Log.InfoContext(ctx, "this process alerts now", slog.Int64("fence", lease.Fence))
			return lease, true
		}
		if err != nil && ctx.Err() == nil && !seen.quiet {
			a.Log.WarnContext(ctx, "the lease on the alerts cannot be read or taken; trying on", slog.Any("error", err))
		}
		seen.quiet = err != nil
		timer.Reset(lookEvery)
	}
}

// look reads the lease, and takes it when nobody can hold it any more. No clock of
// another process is looked at: what counts is how long the lease stands still.
func (a *Alerter) look(ctx context.Context, seen *watch) (registry.Lease, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	lease, err := a.Store.Lease(ctx)
	if err != nil {
		seen.since = time.Time{} // The holder may not have reached the database either.
		return lease, false, err
	}
	now := time.Now()
	if lease != seen.lease || seen.since.IsZero() {
		if lease.Holder != "" && lease.Holder != a.holder && lease.Holder != seen.lease.Holder {
			a.Log.InfoContext(ctx, "another process alerts; this one stands by", slog.String("holder", registry.Shorten(lease.Holder, registry.MaxDetail)))
		}
		seen.lease, seen.since = lease, now
	}
	// A lease of this very alerter was not given back when its last shift ended.
	free := lease.Holder == "" || lease.Holder == a.holder
	if !free && now.Sub(seen.since) < takeAfter {
		return lease, false, nil
	}
	return a.Store.TakeLease(ctx, lease, a.holder)
}

// serve alerts under a lease until it is lost, ctx is done, or there are other
// settings; the lease is kept for those.
func (a *Alerter) serve(ctx context.Context, lease registry.Lease) {
	s := a.newShift(lease.Fence)
	a.Observer.Alerting(true)
	err := s.run(ctx)
	a.Observer.Alerting(false)
	a.Observer.Firing(map[string]int{})
	switch {
	case errors.Is(err, ErrLeaseLost):
		a.Log.WarnContext(ctx, "another process has taken over to alert; this one stands by", slog.Int64("fence", lease.Fence))
		return
	case errors.Is(err, errReloaded) && len(a.current().Receivers) > 0:
		return
	case err != nil && !errors.Is(err, errReloaded) && ctx.Err() == nil:
		a.Log.ErrorContext(ctx, "alerting was interrupted", slog.Any("error", err))
	}
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), partingWait)
	defer cancel()
	if err := a.Store.ReleaseLease(releasing, lease.Fence); err != nil {
		a.Log.WarnContext(releasing, "the lease on the alerts was not given back; another process has to wait until it has stood still",
			slog.Any("error", err), slog.Duration("wait", takeAfter))
	}
	if err != nil && !errors.Is(err, errReloaded) {
		a.pause(ctx)
	}
}

// pause lets other processes have a turn after an interruption.
func (a *Alerter) pause(ctx context.Context) {
	timer := time.NewTimer(2 * lookEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// run alerts until ctx is done, and returns nil then.
func (s *shift) run(ctx context.Context) error {
	loading, cancel := context.WithTimeout(ctx, loadWait)
	defer cancel()
	kept, err := s.Store.Load(loading)
	if err != nil {
		return err
	}
	s.book = newBook(kept, s.MaxOpen, s.Now())
	s.Observer.Firing(s.book.counts())
	group, ctx := errgroup.WithContext(ctx)
	// What is being told when the shift ends may be told to its end.
	telling, done := outlasting(ctx, partingWait)
	defer done()
	group.Go(func() error { return s.beat(ctx) })
	group.Go(func() error { return s.follow(ctx) })
	for _, r := range s.receivers {
		group.Go(func() error { return s.tellOn(ctx, telling, r) })
	}
	return group.Wait()
}

// beat shows that this process lives, until ctx is done or the lease is lost.
// Every write does so too.
func (s *shift) beat(ctx context.Context) error {
	timer := time.NewTimer(beatEvery)
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		err := s.write(ctx, &Change{})
		switch {
		case err == nil:
			timer.Reset(beatEvery)
		case errors.Is(err, ErrLeaseLost):
			return err
		default:
			if !failing && ctx.Err() == nil {
				s.Log.ErrorContext(ctx, "the lease on the alerts cannot be renewed; soon nothing more is told", slog.Any("error", err))
			}
			timer.Reset(beatAgain)
		}
		failing = err != nil
	}
}

// write makes a change in the store, and then in the book.
func (s *shift) write(ctx context.Context, change *Change) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	began := time.Now()
	if err := s.Store.Write(ctx, s.fence, *change); err != nil {
		return err
	}
	s.mu.Lock()
	if began.After(s.beaten) {
		s.beaten = began
	}
	s.mu.Unlock()
	s.book.take(change)
	return nil
}

// alive reports whether nobody else can have taken the lease.
func (s *shift) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.beaten) < beatLost
}

// outlasting returns a context that is done only some time after ctx is.
func outlasting(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(by, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
	}
}
