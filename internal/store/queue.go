package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxWaiting bounds the writers of one process that wait for their turn.
const maxWaiting = 4096

var (
	errQueueFull   = fmt.Errorf("%d writers of this process wait already", maxWaiting)
	errQueueClosed = errors.New("the database is closed")
)

// locker is the lock that writers of many processes queue for. Lock blocks and
// cannot be cancelled.
type locker interface {
	Lock() error
	Unlock() error
}

// queue hands a locker to the writers of this process, first in, first out. One
// goroutine, which lives as long as somebody waits, blocks in Lock on behalf of
// them all, so that a waiter can leave at its own deadline. The lock is given
// back after each writer: other processes have their turn.
type queue struct {
	lock    locker
	mu      sync.Mutex
	waiting []*turn
	serving chan struct{} // closed when the goroutine ends; nil while there is none
	closed  bool
}

// turn is one writer's place in the queue.
type turn struct {
	granted chan error // receives once: nil when the lock is held for this writer
	over    chan bool  // receives once after a grant: whether the lock was used
}

// acquire waits for the lock until ctx is done. The caller that gets it must
// call release once.
func (q *queue) acquire(ctx context.Context) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	mine := &turn{granted: make(chan error, 1), over: make(chan bool, 1)}
	if err := q.join(mine); err != nil {
		return nil, err
	}
	select {
	case err := <-mine.granted:
		if err != nil {
			return nil, err
		}
		return func() { mine.over <- true }, nil
	case <-ctx.Done():
		if !q.leave(mine) {
			mine.over <- false // Granted meanwhile: the next in line gets it.
		}
		return nil, ctx.Err()
	}
}

func (q *queue) join(mine *turn) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return errQueueClosed
	case len(q.waiting) >= maxWaiting:
		return errQueueFull
	}
	q.waiting = append(q.waiting, mine)
	if q.serving == nil {
		q.serving = make(chan struct{})
		go q.serve(q.serving)
	}
	return nil
}

// leave takes a turn out of the queue and reports whether it was still there.
func (q *queue) leave(mine *turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	place := slices.Index(q.waiting, mine)
	if place < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, place, place+1)
	return true
}

// next takes the first turn out of the queue.
func (q *queue) next() *turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil
	}
	mine := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	return mine
}

// serve locks, serves one writer and unlocks, until nobody waits.
func (q *queue) serve(ended chan struct{}) {
	defer close(ended)
	for q.wanted() {
		if err := q.lock.Lock(); err != nil {
			q.fail(err)
			continue
		}
		q.serveOne()
		if err := q.lock.Unlock(); err != nil {
			q.fail(fmt.Errorf("give back the writer lock: %w", err))
		}
	}
}

// wanted reports whether somebody waits; when not, the goroutine is to end.
func (q *queue) wanted() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.serving = nil
		return false
	}
	return true
}

// serveOne grants the lock, which is held, to one writer after another until one
// of them uses it. A lock won for nobody is simply given back.
func (q *queue) serveOne() {
	for mine := q.next(); mine != nil; mine = q.next() {
		mine.granted <- nil
		if used := <-mine.over; used {
			return
		}
	}
}

// fail tells the first in line that the lock cannot be had.
func (q *queue) fail(err error) {
	if mine := q.next(); mine != nil {
		mine.granted <- err
	}
}

// close refuses everybody who waits and all who come later, and waits for the
// goroutine. It gives up after patience: only another process that holds the
// lock and does not go on can make it wait that long.
func (q *queue) close(patience time.Duration) error {
	q.mu.Lock()
	q.closed = true
	for _, mine := range q.waiting {
		mine.granted <- errQueueClosed
	}
	q.waiting = nil
	serving := q.serving
	q.mu.Unlock()
	if serving == nil {
		return nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-serving:
		return nil
	case <-timer.C:
		return fmt.Errorf("another process has held the writer lock for %v", patience)
	}
}
