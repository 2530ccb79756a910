package patrol

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/lease"
	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// A batch is written when it has batchSize results or batchBytes, or some time
	// after its first: quietWait, or busyWait when the batch before had manyResults,
	// since a result is stored at half the cost in a large one.
	batchSize   = 256
	batchBytes  = 4 << 20
	quietWait   = 100 * time.Millisecond
	busyWait    = 500 * time.Millisecond
	manyResults = 8
	// maxUnstored and maxUnstoredBytes bound the results that wait to be stored.
	maxUnstored      = 8192
	maxUnstoredBytes = 64 << 20
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
	store    Store
	observer Observer
	log      *slog.Logger
	hold     *lease.Hold
	queue    chan unstored

	mu       sync.Mutex
	waiting  int       // results that are neither stored nor dropped
	bytes    int       // that they take
	since    time.Time // since when results have waited; zero when the last were stored
	dropping time.Time // when the log last told that there is no room
}

// unstored is a result that waits, with what it is about.
type unstored struct {
	record registry.Record
	of     *entry
	bytes  int
}

// weigh is about how many bytes a result takes.
func weigh(record *registry.Record) int {
	bytes := len(record.Document)
	for i := range record.ToolList {
		tool := &record.ToolList[i]
		bytes += len(tool.Name) + len(tool.Description) + len(tool.InputSchema) + len(tool.OutputSchema)
	}
	return bytes
}

func newBatch(s *shift) *batch {
	return &batch{
		store: s.store, observer: s.observer, log: s.log, hold: s.hold,
		queue: make(chan unstored, maxUnstored),
	}
}

// add takes a result without waiting. When there is no room, it is dropped.
func (b *batch) add(ctx context.Context, record registry.Record, of *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, now := unstored{record, of, weigh(&record)}, time.Now()
	if b.waiting == maxUnstored || b.bytes+one.bytes > maxUnstoredBytes {
		b.observer.Dropped(1)
		if now.Sub(b.dropping) > tellEvery {
			b.dropping = now
			b.log.ErrorContext(ctx, "results are dropped: too many wait to be stored", slog.Int("results", b.waiting), slog.Int("bytes", b.bytes))
		}
		return
	}
	b.waiting++
	b.bytes += one.bytes
	if b.since.IsZero() {
		b.since = now
	}
	b.queue <- one // has room for all that may wait
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
	for bytes := first.bytes; len(collected) < batchSize && bytes < batchBytes; {
		select {
		case another, open := <-b.queue:
			if !open {
				return collected
			}
			collected = append(collected, another)
			bytes += another.bytes
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
			b.drop(ctx, results, err)
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
	return slices.DeleteFunc(results, func(one unstored) bool {
		gone := one.of.gone.Load()
		if gone {
			b.settle([]unstored{one}, false)
		}
		return gone
	})
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
	if err := b.store.Record(ctx, &b.hold.Fence, records); err != nil {
		return err
	}
	b.hold.Beaten(began)
	b.settle(results, true)
	b.observer.Stored(len(results), time.Since(began))
	b.tell(parting, results)
	return nil
}

func (b *batch) drop(ctx context.Context, results []unstored, why error) {
	b.settle(results, false)
	b.observer.Dropped(len(results))
	b.log.ErrorContext(ctx, "results were dropped: they could not be stored", slog.Int("results", len(results)), slog.Any("cause", why))
}

// forsake drops what is left when a shift has ended.
func (b *batch) forsake(ctx context.Context) {
	var left []unstored
	for one := range b.queue {
		left = append(left, one)
	}
	if len(left) > 0 {
		b.drop(ctx, left, errEnded)
	}
}

var errEnded = errors.New("the patrol of this process has ended")

// settle counts results that wait no longer, and whether they were stored.
func (b *batch) settle(results []unstored, stored bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting -= len(results)
	for _, one := range results {
		b.bytes -= one.bytes
	}
	if stored {
		b.since = time.Time{}
		if b.waiting > 0 {
			b.since = time.Now()
		}
	}
}

// unstoredFor tells how long results have waited without any being stored.
func (b *batch) unstoredFor(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() {
		return 0
	}
	return now.Sub(b.since)
}
