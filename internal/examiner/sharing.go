package examiner

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// errLeft says that a caller's time was over before what it shared had ended.
var errLeft = errors.New("the time of the caller is over")

// sharing lets those who want the same at the same time share one attempt at it.
// The zero value is ready.
type sharing[K comparable, A any] struct {
	mu    sync.Mutex
	under map[K]*attempt[A]
}

// attempt is under way for those who wait for it.
type attempt[A any] struct {
	of      A
	waiting int // under the lock
	cancel  context.CancelFunc
	done    chan struct{} // closed when err, and of, are final
	err     error
}

// do joins the attempt of a key that is under way, or begins one, and waits for
// it; joined is called under the lock that land takes. The attempt goes on when
// ctx ends, unless nobody else waits for it: then it is cancelled, and has ended
// on return. Errors: errLeft, and that of the attempt, of which a panic is one.
//
// Once the attempt has called land nobody joins it any more, and joined has been
// called for everybody who has.
func (s *sharing[K, A]) do(ctx context.Context, key K, fresh func() A, joined func(A), carryOut func(ctx context.Context, of A, land func()) error) (A, error) {
	if ctx.Err() != nil {
		var none A
		return none, errLeft
	}
	s.mu.Lock()
	shared, ok := s.under[key]
	if !ok {
		shared = s.begin(ctx, key, fresh(), carryOut)
	}
	shared.waiting++
	joined(shared.of)
	s.mu.Unlock()
	select {
	case <-shared.done:
	case <-ctx.Done():
		if !s.leave(key, shared) {
			return shared.of, errLeft
		}
	}
	return shared.of, shared.err
}

// begin starts an attempt; the lock is held.
func (s *sharing[K, A]) begin(ctx context.Context, key K, of A, carryOut func(context.Context, A, func()) error) *attempt[A] {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	begun := &attempt[A]{of: of, cancel: cancel, done: make(chan struct{})}
	if s.under == nil {
		s.under = map[K]*attempt[A]{}
	}
	s.under[key] = begun
	land := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.retire(key, begun)
	}
	go func() {
		defer close(begun.done)
		defer cancel()
		defer land()
		defer func() {
			if thrown := recover(); thrown != nil {
				begun.err = fmt.Errorf("it ended in a panic: %v", thrown)
			}
		}()
		begun.err = carryOut(ctx, of, land)
	}()
	return begun
}

// leave counts a caller out, and reports that it need not leave when the attempt
// has ended already. The last one ends the attempt.
func (s *sharing[K, A]) leave(key K, left *attempt[A]) (hasEnded bool) {
	select {
	case <-left.done:
		return true
	default:
	}
	s.mu.Lock()
	left.waiting--
	isLast := left.waiting == 0
	if isLast {
		left.cancel()
		s.retire(key, left)
	}
	s.mu.Unlock()
	if isLast {
		<-left.done
	}
	return false
}

// retire keeps others from joining; the lock is held.
func (s *sharing[K, A]) retire(key K, old *attempt[A]) {
	if s.under[key] == old {
		delete(s.under, key)
	}
}
