package patrol

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// lookEvery is how often a process that does not patrol reads the lease, and
	// takeAfter how long, by its own clock, the lease must have stood still before
	// it takes it: three beats.
	lookEvery = time.Second
	takeAfter = 6 * time.Second
	// leaseWait bounds each call that is about the lease.
	leaseWait = 3 * time.Second
	// partingWait bounds what is still stored once the patrol is to end.
	partingWait = 5 * time.Second
)

// errVacant says that nothing is registered any more.
var errVacant = errors.New("nothing is registered")

// Run patrols, or stands by while another process does, until ctx is done. It
// then gives the lease back and returns nil. It is to be called once.
func (p *Patrol) Run(ctx context.Context) error {
	p.note(func() { p.running, p.assured = true, time.Now() })
	defer p.note(func() { p.running = false })
	for ctx.Err() == nil {
		if !p.occupied() {
			select {
			case <-ctx.Done():
			case <-p.reloads:
			}
			continue
		}
		lease, taken := p.standBy(ctx)
		if taken {
			p.serve(ctx, lease)
		}
	}
	return nil
}

// note changes what Health sees.
func (p *Patrol) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// occupied reports whether anything is registered. A process without components
// must not keep the lease from one that has some.
func (p *Patrol) occupied() bool {
	vacant := len(p.examiner.Registered().Components) == 0
	p.note(func() {
		if p.vacant = vacant; vacant {
			p.assured = time.Now()
		}
	})
	return !vacant
}

// watch is what a process that does not patrol has seen of the lease.
type watch struct {
	lease registry.Lease
	since time.Time // when the lease was first seen like this
	quiet bool      // that it cannot be read has been told
}

// standBy returns with the lease once it is free, or has stood still for too
// long; or without it when ctx is done or nothing is registered any more.
func (p *Patrol) standBy(ctx context.Context) (registry.Lease, bool) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var seen watch
	for {
		select {
		case <-ctx.Done():
			return registry.Lease{}, false
		case <-p.reloads:
			if !p.occupied() {
				return registry.Lease{}, false
			}
			continue
		case <-timer.C:
		}
		lease, taken, err := p.look(ctx, &seen)
		if taken {
			p.tellTaken(ctx, lease, &seen)
			return lease, true
		}
		if err != nil && ctx.Err() == nil && !seen.quiet {
			p.log.WarnContext(ctx, "the lease on the patrol cannot be read or taken; trying on", slog.Any("error", err))
		}
		seen.quiet = err != nil
		timer.Reset(lookEvery)
	}
}

// look reads the lease, and takes it when nobody can hold it any more. No clock
// of another process is looked at: what counts is how long the lease stands still.
func (p *Patrol) look(ctx context.Context, seen *watch) (registry.Lease, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseWait)
	defer cancel()
	lease, err := p.store.Lease(ctx)
	if err != nil {
		seen.since = time.Time{} // The holder may not have reached the database either.
		return lease, false, err
	}
	now := time.Now()
	if lease != seen.lease || seen.since.IsZero() {
		if lease.Holder != "" && lease.Holder != p.holder {
			p.note(func() { p.assured = now })
			p.tellHolder(ctx, lease.Holder, seen)
		}
		seen.lease, seen.since = lease, now
	}
	// A lease of this very patrol was not given back when its last shift ended.
	free := lease.Holder == "" || lease.Holder == p.holder
	if !free && now.Sub(seen.since) < takeAfter {
		return lease, false, nil
	}
	return p.store.TakeLease(ctx, lease, p.holder)
}

// serve patrols under a lease until it is lost, ctx is done, or nothing is
// registered any more.
func (p *Patrol) serve(ctx context.Context, lease registry.Lease) {
	parting, done := outlasting(ctx, partingWait)
	defer done()
	s := p.newShift(lease.Fence, time.Now())
	err := s.run(ctx, parting)
	p.note(func() {
		if p.onDuty != nil {
			p.onDuty, p.assured = nil, time.Now()
		}
	})
	p.observer.Holding(false)
	broken := err != nil && ctx.Err() == nil && !errors.Is(err, errVacant)
	switch {
	case errors.Is(err, registry.ErrLeaseLost):
		p.log.WarnContext(ctx, "another process has taken the patrol over; this one stands by", slog.Int64("fence", lease.Fence))
		return
	case broken:
		p.log.ErrorContext(ctx, "the patrol was interrupted", slog.Any("error", err))
	}
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseWait)
	defer cancel()
	if err := p.store.ReleaseLease(releasing, lease.Fence); err != nil && !errors.Is(err, registry.ErrLeaseLost) {
		p.log.WarnContext(releasing, "the lease was not given back; another process has to wait until it has stood still",
			slog.Any("error", err), slog.Duration("wait", takeAfter))
	}
	if broken {
		p.pause(ctx)
	}
}

// pause lets other processes have a turn after an interruption.
func (p *Patrol) pause(ctx context.Context) {
	timer := time.NewTimer(2 * lookEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
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
