package alert

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/lease"
)

const (
	// lookEvery is how often the feed is read.
	lookEvery = time.Second
	// storeWait bounds each call of the store, and loadWait the reading of all.
	storeWait = 10 * time.Second
	loadWait  = time.Minute
)

// errReloaded says that there are other settings.
var errReloaded = errors.New("there are other settings")

// Run alerts, or stands by while another process does, until ctx is done. It then
// gives the lease back and returns nil. It is to be called once.
func (a *Alerter) Run(ctx context.Context) error {
	duty := lease.Duty{
		Name: "the alerts", Does: "alerts", Store: beating{a.Store}, Holder: a.holder, Log: a.Log,
		Wanted: a.wanted, Changed: a.reloads, Others: func() {}, Work: a.serve,
	}
	duty.Run(ctx)
	return nil
}

// beating is a store whose lease is beaten by a change of nothing.
type beating struct{ Store }

// Beat implements lease.Store.
func (b beating) Beat(ctx context.Context, fence int64) error { return b.Write(ctx, fence, Change{}) }

// wanted reports whether anybody is to be notified.
func (a *Alerter) wanted() bool { return len(a.current().Receivers) > 0 }

// serve alerts under a hold of the lease until it is lost, ctx is done, or nobody is
// to be notified any more. Other settings make another shift.
func (a *Alerter) serve(ctx context.Context, hold *lease.Hold) error {
	a.Observer.Alerting(true)
	defer a.Observer.Firing(map[string]int{})
	defer a.Observer.Alerting(false)
	for reloaded := false; a.wanted(); reloaded = true {
		s := a.newShift(hold)
		s.reloaded = reloaded
		if err := s.run(ctx); !errors.Is(err, errReloaded) {
			return err
		}
	}
	return nil
}

// run alerts until ctx is done, and returns nil then.
func (s *shift) run(ctx context.Context) error {
	loading, cancel := context.WithTimeout(ctx, loadWait)
	defer cancel()
	kept, err := s.Store.Load(loading)
	if err != nil {
		return err
	}
	s.book = newBook(kept, s.MaxOpen)
	if s.reloaded { // What could not be delivered may be with the new settings.
		s.book.retry(s.Now())
	}
	s.Observer.Firing(s.book.counts())
	group, ctx := errgroup.WithContext(ctx)
	// What is being sent when the shift ends may be sent to its end.
	return lease.Outlasting(ctx, func(sending context.Context) error {
		group.Go(func() error { return s.follow(ctx) })
		for _, r := range s.receivers {
			group.Go(func() error { return s.deliverOn(ctx, sending, r) })
		}
		return group.Wait()
	})
}

// write makes a change in the store, and then in the book.
func (s *shift) write(ctx context.Context, change *Change) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	began := time.Now()
	if err := s.Store.Write(ctx, s.hold.Fence, *change); err != nil {
		return err
	}
	s.hold.Beaten(began)
	s.book.take(change)
	return nil
}
