package patrol

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// A batch is written when it has batchSize results, or some time after its
	// first: quietWait, or busyWait when the batch before had manyResults, since a
	// result is stored at half the cost in a large one.
	batchSize   = 256
	quietWait   = 100 * time.Millisecond
	busyWait    = 500 * time.Millisecond
	manyResults = 8
	// maxUnstored bounds the results that wait to be stored.
	maxUnstored = 8192
	// recordWait bounds one attempt to store a batch. Attempts are repeated for
	// retryFor, with pauses that double from retryFirst to retryMost.
	recordWait = 5 * time.Second
	retryFor   = 30 * time.Second
	retryFirst = 250 * time.Millisecond
	retryMost  = 4 * time.Second
)

// batch hands results to the store, many in one transaction. What the store
// cannot take in time is dropped, and told; it is never made into a verdict.
type batch struct {
	*shift

	queue chan unstored

	counting sync.Mutex
	waiting  int       // results that are neither stored nor dropped
	since    time.Time // since when results have waited; zero when the last were stored
	dropping time.Time // when the log last told that there is no room
}

// unstored is a result that waits, with what it is about.
type unstored struct {
	record registry.Record
	of     *entry
}

func newBatch(s *shift) *batch { return &batch{shift: s, queue: make(chan unstored, maxUnstored)} }

// add takes a result without waiting. When there is no room, it is dropped.
func (b *batch) add(ctx context.Context, record registry.Record, of *entry) {
	b.counting.Lock()
	defer b.counting.Unlock()
	now := time.Now()
	select {
	case b.queue <- unstored{record, of}:
		b.waiting++
		if b.since.IsZero() {
			b.since = now
		}
	default:
		b.observer.Dropped(1)
		if now.Sub(b.dropping) > tellEvery {
			b.dropping = now
			b.log.ErrorContext(ctx, "results are dropped: too many wait to be stored", slog.Int("waiting", maxUnstored))
		}
	}
}

// close says that no more results come.
func (b *batch) close() { close(b.queue) }

// run stores results until close, and then what is left. After ctx is done
// nothing is tried twice, and after parting nothing at all.
func (b *batch) run(ctx, parting context.Context) error {
	wait := quietWait
	for first := range b.queue {
		results := b.collect(first, wait)
		if wait = quietWait; len(results) >= manyResults {
			wait = busyWait
		}
		if err := b.keep(ctx, parting, results); err != nil {
			return err
		}
	}
	return nil
}

// collect waits for more results, up to the size of a batch.
func (b *batch) collect(first unstored, wait time.Duration) []unstored {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	collected := []unstored{first}
	for len(collected) < batchSize {
		select {
		case another, open := <-b.queue:
			if !open {
				return collected
			}
			collected = append(collected, another)
		case <-timer.C:
			return collected
		}
	}
	return collected
}

// keep stores results within retryFor. Its error is that the lease is lost.
func (b *batch) keep(ctx, parting context.Context, results []unstored) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for end, pause := time.Now().Add(retryFor), retryFirst; ; pause = min(2*pause, retryMost) {
		results = b.current(results)
		err := b.attempt(parting, results)
		switch {
		case err == nil:
			return nil
		case !passing(err) && !errors.Is(err, registry.ErrLeaseLost) && len(results) > 1:
			// One of them is refused for what it is; the others need not suffer for it.
			half := len(results) / 2
			return errors.Join(b.keep(ctx, parting, results[:half]), b.keep(ctx, parting, results[half:]))
		case !passing(err), ctx.Err() != nil, time.Now().After(end):
			b.drop(ctx, len(results), err)
			if errors.Is(err, registry.ErrLeaseLost) {
				return err
			}
			return nil
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
	}
}

// passing reports whether a failure to store says something about the database,
// and not about what was to be stored.
func passing(err error) bool {
	return errors.Is(err, fault.Unavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// current leaves out the results of what is no longer registered as it was.
func (b *batch) current(results []unstored) []unstored {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := slices.DeleteFunc(results, func(one unstored) bool { return one.of.gone })
	b.settle(len(results)-len(left), false)
	return left
}

// attempt tries to store results once.
func (b *batch) attempt(parting context.Context, results []unstored) error {
	if len(results) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(parting, recordWait)
	defer cancel()
	records := make([]registry.Record, len(results))
	for i, one := range results {
		records[i] = one.record
	}
	began := time.Now()
	if err := b.store.Record(ctx, &b.fence, records); err != nil {
		return err
	}
	b.alive(began)
	b.settle(len(results), true)
	b.observer.Stored(len(results), time.Since(began))
	return nil
}

func (b *batch) drop(ctx context.Context, results int, why error) {
	b.settle(results, false)
	b.observer.Dropped(results)
	b.log.ErrorContext(ctx, "results were dropped: they could not be stored", slog.Int("results", results), slog.Any("error", why))
}

// forsake drops what is left when a shift has ended.
func (b *batch) forsake(ctx context.Context) {
	left := 0
	for range b.queue {
		left++
	}
	if left > 0 {
		b.drop(ctx, left, errEnded)
	}
}

var errEnded = errors.New("the patrol of this process has ended")

// settle counts results that wait no longer, and whether they were stored.
func (b *batch) settle(results int, stored bool) {
	b.counting.Lock()
	defer b.counting.Unlock()
	b.waiting -= results
	if stored {
		b.since = time.Time{}
		if b.waiting > 0 {
			b.since = time.Now()
		}
	}
}

// unstoredFor tells how long results have waited without any being stored.
func (b *batch) unstoredFor(now time.Time) time.Duration {
	b.counting.Lock()
	defer b.counting.Unlock()
	if b.since.IsZero() {
		return 0
	}
	return now.Sub(b.since)
}
