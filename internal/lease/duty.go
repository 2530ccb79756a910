package lease

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/trouble"
)

// Duty is what one process at a time does under a lease.
type Duty struct {
	Name   string // such as "the patrol"
	Does   string // what the holder does, such as "patrols"
	Store  Store
	Holder string // names this contender in the lease; no two are alike
	Log    *slog.Logger
	// Wanted reports whether there is anything to do. A process that has nothing to
	// do must not keep the lease from one that has.
	Wanted func() bool
	// Changed tells that Wanted may have changed. While Work runs, Work listens to
	// it.
	Changed <-chan struct{}
	// Others is called whenever another process has shown that it has charge.
	Others func()
	// Work does the duty until ctx is done, and returns nil then. It may return nil
	// before when nothing is wanted any more; registry.ErrLeaseLost when a write was
	// refused, and any other error to be begun anew, here or elsewhere.
	Work func(ctx context.Context, hold *Hold) error
}

// Run works, or stands by while another process does, until ctx is done. It then
// gives the lease back.
func (d *Duty) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if !d.Wanted() {
			select {
			case <-ctx.Done():
			case <-d.Changed:
			}
			continue
		}
		if hold, taken := d.standBy(ctx); taken {
			d.serve(ctx, hold)
		}
	}
}

// watch is what a process that stands by has seen of the lease.
type watch struct {
	lease registry.Lease
	since time.Time // when the lease was first seen like this
}

// standBy returns with a hold once the lease is free, or has stood still for too
// long; or without it when ctx is done or nothing is wanted any more.
func (d *Duty) standBy(ctx context.Context) (*Hold, bool) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var seen watch
	looking := trouble.Log{
		To: d.Log, Level: slog.LevelWarn, Fails: "the lease on " + d.Name + " cannot be read or taken", Works: "the lease on " + d.Name + " can be read and taken again",
	}
	for {
		select {
		case <-ctx.Done():
			return nil, false
		case <-d.Changed:
			if !d.Wanted() {
				return nil, false
			}
			continue
		case <-timer.C:
		}
		began := time.Now()
		lease, taken, err := d.look(ctx, &seen)
		if taken {
			d.tellTaken(ctx, lease, &seen)
			return NewHold(lease.Fence, began), true
		}
		looking.Note(ctx, err)
		timer.Reset(LookEvery)
	}
}

// look reads the lease, and takes it when nobody can hold it any more.
func (d *Duty) look(ctx context.Context, seen *watch) (registry.Lease, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	lease, err := d.Store.Lease(ctx)
	if err != nil {
		seen.since = time.Time{} // The holder may not have reached the database either.
		return lease, false, err
	}
	now := time.Now()
	if lease != seen.lease || seen.since.IsZero() {
		if lease.Holder != "" && lease.Holder != d.Holder {
			d.Others()
			if lease.Holder != seen.lease.Holder {
				d.tell(ctx, slog.LevelInfo, "another process "+d.Does+"; this one stands by", slog.String("holder", registry.Shorten(lease.Holder, registry.MaxDetail)))
			}
		}
		seen.lease, seen.since = lease, now
	}
	// A lease of this very contender was not given back when its last hold ended.
	free := lease.Holder == "" || lease.Holder == d.Holder
	if !free && now.Sub(seen.since) < TakeAfter {
		return lease, false, nil
	}
	return d.Store.TakeLease(ctx, lease, d.Holder)
}

// serve works under a hold until it is lost, ctx is done, or nothing is wanted any
// more.
func (d *Duty) serve(ctx context.Context, hold *Hold) {
	err := d.work(ctx, hold)
	broken := err != nil && ctx.Err() == nil
	switch {
	case errors.Is(err, registry.ErrLeaseLost):
		d.tell(ctx, slog.LevelWarn, "another process has taken "+d.Name+" over; this one stands by", slog.Int64("fence", hold.Fence))
		return
	case broken:
		d.tell(ctx, slog.LevelError, "what this process did under the lease on "+d.Name+" was interrupted", slog.Any("cause", err))
	}
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), callWait)
	defer cancel()
	if err := d.Store.ReleaseLease(releasing, hold.Fence); err != nil && !errors.Is(err, registry.ErrLeaseLost) {
		d.tell(releasing, slog.LevelWarn, "the lease on "+d.Name+" was not given back; another process has to wait until it has stood still",
			slog.Any("cause", err), slog.Duration("wait", TakeAfter))
	}
	if broken {
		pause(ctx, 2*LookEvery) // lets other processes have a turn
	}
}

// work has the work done, and beats meanwhile.
func (d *Duty) work(ctx context.Context, hold *Hold) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer cancel()
		return d.Work(ctx, hold)
	})
	group.Go(func() error { return d.beat(ctx, hold) })
	return group.Wait()
}

// beat shows that this process lives, until ctx is done or the lease is lost. Every
// write that the work notes does so too.
func (d *Duty) beat(ctx context.Context, hold *Hold) error {
	beating := trouble.Log{
		To: d.Log, Level: slog.LevelError, Fails: "the lease on " + d.Name + " cannot be renewed; soon nothing more is begun under it",
		Works: "the lease on " + d.Name + " can be renewed again",
	}
	for wait := beatEvery; pause(ctx, wait); {
		began := time.Now()
		if wait = beatEvery - hold.Silent(began); wait > 0 {
			continue
		}
		calling, cancel := context.WithTimeout(ctx, callWait)
		err := d.Store.Beat(calling, hold.Fence)
		cancel()
		if errors.Is(err, registry.ErrLeaseLost) {
			return err
		}
		beating.Note(ctx, err)
		if wait = BeatAgain; err == nil {
			hold.Beaten(began)
			wait = beatEvery
		}
	}
	return nil
}

// pause reports whether so much time has passed before ctx was done.
func pause(ctx context.Context, long time.Duration) bool {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// tellTaken logs that this process has charge, and in whose place when that one had
// not given the lease back.
func (d *Duty) tellTaken(ctx context.Context, lease registry.Lease, seen *watch) {
	attributes := []slog.Attr{slog.Int64("fence", lease.Fence)}
	if before := seen.lease.Holder; before != "" && before != d.Holder {
		attributes = append(attributes, slog.String("instead_of", registry.Shorten(before, registry.MaxDetail)), slog.Duration("silent_for", time.Since(seen.since).Round(time.Millisecond)))
	}
	d.tell(ctx, slog.LevelInfo, "this process "+d.Does+" now", attributes...)
}

func (d *Duty) tell(ctx context.Context, level slog.Level, text string, attributes ...slog.Attr) {
	d.Log.LogAttrs(ctx, level, text, attributes...) //nolint:sloglint // The text holds the constant name of the duty.
}
