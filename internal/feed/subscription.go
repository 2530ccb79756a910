package feed

import (
	"context"
	"slices"
	"sync"

	"github.com/countersign-dev/countersign/internal/fault"
)

// maxTold bounds the events of one Next.
const maxTold = 256

// Subscription is one listener's place in the sequence. Next is called by one
// goroutine at a time; Close by any.
type Subscription struct {
	of     *Follower
	once   sync.Once
	closed chan struct{}

	placed bool     // at is known
	proven bool     // at is not before what is kept, nor after all that happened
	at     Position // after which the next event comes
}

// Subscribe begins to listen: after a position that a listener was told before,
// or, when it is nil, with what happens from now on. Fault: Unavailable when
// MaxListeners listen already, and when Run has ended.
func (f *Follower) Subscribe(after *Position) (*Subscription, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.ended:
		return nil, ending()
	case f.listening == MaxListeners:
		return nil, fault.New(fault.Unavailable, "%d listen already, which is as many as may", MaxListeners).
			WithHint("Close what need not listen, or try again later.")
	}
	made := &Subscription{of: f, closed: make(chan struct{})}
	switch {
	case after != nil:
		made.at, made.placed = *after, true
	case f.started:
		made.at, made.placed, made.proven = f.head, true, true
	}
	f.listening++
	f.Observer.Listeners(f.listening)
	if f.listening == 1 {
		select {
		case f.quicken <- struct{}{}:
		default:
		}
	}
	return made, nil
}

// Close ends the subscription, and a Next that waits. Closing again does nothing.
func (s *Subscription) Close() {
	s.once.Do(func() {
		close(s.closed)
		s.of.mu.Lock()
		defer s.of.mu.Unlock()
		s.of.listening--
		s.of.Observer.Listeners(s.of.listening)
	})
}

// Position is where the listener is: after the events that Next returned, and
// after a reset where what follows goes on. It is zero until Begin, or the first
// Next, of a subscription without a position has returned.
func (s *Subscription) Position() Position { return s.at }

// Begin waits until the follower knows where it is, and returns the position after
// which Next goes on. Faults: Unavailable when the subscription is closed and when
// the server ends; also the error of ctx.
func (s *Subscription) Begin(ctx context.Context) (Position, error) {
	for {
		s.of.mu.Lock()
		unknown, err := s.locate()
		s.of.mu.Unlock()
		if err != nil || unknown == nil {
			return s.at, err
		}
		if err := s.await(ctx, unknown); err != nil {
			return Position{}, err
		}
	}
}

// locate gives the subscription its position, or returns what to wait for while it
// has none. The follower is locked.
func (s *Subscription) locate() (unknown <-chan struct{}, err error) {
	f := s.of
	select {
	case <-s.closed:
		return nil, fault.New(fault.Unavailable, "the subscription is closed").WithHint("Subscribe again.")
	default:
	}
	switch {
	case f.ended:
		return nil, ending()
	case !f.started:
		return f.moved, nil
	case !s.placed:
		s.at, s.placed, s.proven = f.head, true, true
	}
	return nil, nil
}

// await waits until something has moved, or the subscription is closed. It returns
// the error of ctx.
func (s *Subscription) await(ctx context.Context, moved <-chan struct{}) error {
	select {
	case <-moved:
	case <-s.closed:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Next waits for what happens after the position, and moves on. At most maxTold
// events are returned at once, in their order; others have them too, so they are not to be
// changed. Reset says that events are missing,
// or that the position is of another sequence: whoever listens reads everything
// anew, and what follows goes on from Position. Faults: Unavailable when the store
// cannot be read, when the subscription is closed and when the server ends; also
// the error of ctx.
func (s *Subscription) Next(ctx context.Context) (events []Event, reset bool, err error) {
	for {
		events, moved, err := s.look()
		switch {
		case err != nil || len(events) > 0:
			return events, false, err
		case ctx.Err() != nil:
			return nil, false, ctx.Err()
		case moved == nil:
			if events, reset, err = s.catchUp(ctx); err != nil || reset || len(events) > 0 {
				return events, reset, err
			}
			continue
		}
		if err := s.await(ctx, moved); err != nil {
			return nil, false, err
		}
	}
}

// look takes events that the follower holds. Where there are none it returns what
// to wait for, which is nil when the store has to be asked.
func (s *Subscription) look() (events []Event, moved <-chan struct{}, err error) {
	f := s.of
	f.mu.Lock()
	defer f.mu.Unlock()
	if unknown, err := s.locate(); err != nil || unknown != nil {
		return nil, unknown, err
	}
	if s.at.Before(f.floor) || f.head.Before(s.at) && !s.proven {
		return nil, nil, nil
	}
	from, is := slices.BinarySearchFunc(f.held, s.at, func(event Event, at Position) int { return event.ID.compare(at) })
	if is {
		from++
	}
	to := min(len(f.held), from+maxTold)
	if from == to {
		return nil, f.moved, nil
	}
	s.at, s.proven = f.held[to-1].ID, true
	return f.held[from:to:to], nil, nil
}

// catchUp reads from the store what the follower does not hold any more, up to
// where it is.
func (s *Subscription) catchUp(ctx context.Context) (events []Event, reset bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	// The ends are read last: what was not removed by then was there before.
	if events, err = s.of.Store.Events(ctx, s.at, maxTold); err != nil {
		return nil, false, err
	}
	before, newest, err := s.of.Store.Ends(ctx)
	if err != nil {
		return nil, false, err
	}
	s.of.mu.Lock()
	head := s.of.head
	s.of.mu.Unlock()
	s.proven = true
	told := 0
	for told < len(events) && !head.Before(events[told].ID) {
		told++
	}
	isMissing := told == 0 && s.at.Before(head)
	if isMissing || s.at.Before(before) || newest.Before(s.at) {
		s.at = head
		return nil, true, nil
	}
	if told > 0 {
		s.at = events[told-1].ID
	}
	return events[:told:told], false, nil
}

func ending() error {
	return fault.New(fault.Unavailable, "the server ends").WithHint("Connect again when it has started.")
}
