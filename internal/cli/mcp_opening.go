package cli

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/mcpserver"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

const (
	// headStart is how long the handshake of a client has the processors to itself:
	// then the database is opened, unless a call needed it sooner.
	headStart = 50 * time.Millisecond

	// quietTime is how long no call has come before a session ends whose database
	// will not open, so that calls that were sent already are answered why.
	quietTime = 250 * time.Millisecond
	// maxFarewell is how long they are answered at most.
	maxFarewell = 5 * time.Second
)

// opening is what a session needs, and opens when a call asks for it: one attempt
// at a time, which all who ask meanwhile share. After a failure that may pass the
// next call begins another; one that will not is the answer of every call.
type opening[T any] struct {
	open func() (opened[T], error) // set before the first call

	calls chan struct{} // holds one token when a call came since it was taken
	lost  chan struct{} // closed by a failure that will not pass

	lock sync.Mutex
	last *attempt[T] // nil before the first
}

// opened is what was opened.
type opened[T any] struct {
	use   T
	close func() error // called once
}

// attempt is one attempt to open.
type attempt[T any] struct {
	done   chan struct{} // closed when the fields below are set
	got    opened[T]
	failed error
}

func newOpening[T any]() *opening[T] {
	return &opening[T]{calls: make(chan struct{}, 1), lost: make(chan struct{})}
}

// await returns what is opened when it is there. Faults: those of the opening;
// Unavailable when ctx ends first.
func (o *opening[T]) await(ctx context.Context) (T, error) {
	select {
	case o.calls <- struct{}{}:
	default:
	}
	current := o.attempt()
	var none T
	select {
	case <-current.done:
	case <-ctx.Done():
		return none, task.Unavailable(ctx.Err())
	}
	if current.failed != nil {
		return none, current.failed
	}
	return current.got.use, nil
}

// attempt returns the one that is under way or has settled it, else a new one.
func (o *opening[T]) attempt() *attempt[T] {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.last != nil && !o.last.isOver() {
		return o.last
	}
	next := &attempt[T]{done: make(chan struct{})}
	o.last = next
	go func() {
		defer close(next.done)
		next.got, next.failed = o.open()
		if next.failed != nil && !store.MayPass(next.failed) {
			close(o.lost)
		}
	}()
	return next
}

// isOver reports whether a has failed and another may do better.
func (a *attempt[T]) isOver() bool {
	select {
	case <-a.done:
		return store.MayPass(a.failed)
	default:
		return false
	}
}

// settle waits for the last attempt.
func (o *opening[T]) settle() *attempt[T] {
	o.lock.Lock()
	last := o.last
	o.lock.Unlock()
	if last != nil {
		<-last.done
	}
	return last
}

// serve serves a client over stdio while what the server needs is opened, which
// is closed again at the end. It is opened also for a client whose input ends at
// once, so that what cannot be opened is told. It ends with the reason when that
// will not pass, and with nil when ctx is done.
func (o *opening[T]) serve(ctx context.Context, p *process, server *mcpserver.Server, log *slog.Logger, open func(context.Context) (opened[T], error)) error {
	group, serving := errgroup.WithContext(ctx)
	o.open = func() (opened[T], error) { return open(serving) }
	left := make(chan struct{})
	group.Go(func() error {
		defer close(left)
		return server.ServeStdio(serving, p.In, p.Out)
	})
	group.Go(func() error { return o.watch(serving, left, log) })
	err := group.Wait()
	if last := o.settle(); last != nil && last.failed == nil {
		err = errors.Join(err, last.got.close())
	}
	return err
}

// watch opens after the head start or when the client has left, and returns why
// that will not do. It returns nil when ctx is done or the client has left.
func (o *opening[T]) watch(ctx context.Context, left <-chan struct{}, log *slog.Logger) error {
	start := time.NewTimer(headStart)
	defer start.Stop()
	select {
	case <-start.C:
	case <-left:
	case <-ctx.Done():
		return nil
	}
	if _, err := o.await(ctx); store.MayPass(err) && ctx.Err() == nil {
		log.WarnContext(ctx, "the database could not be opened; the next call tries again", slog.Any("cause", err))
	}
	select {
	case <-o.lost:
	case <-left:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nil
	}
	select {
	case <-o.lost:
		o.farewell(ctx, left)
		return o.settle().failed
	default:
		o.settle()
		return nil
	}
}

// farewell returns when no call has come for a while, or none will.
func (o *opening[T]) farewell(ctx context.Context, left <-chan struct{}) {
	most := time.NewTimer(maxFarewell)
	defer most.Stop()
	quiet := time.NewTimer(quietTime)
	defer quiet.Stop()
	for {
		select {
		case <-o.calls:
			quiet.Reset(quietTime)
		case <-quiet.C:
			return
		case <-most.C:
			return
		case <-left:
			return
		case <-ctx.Done():
			return
		}
	}
}
