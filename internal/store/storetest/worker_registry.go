package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// The measures of a worker that records.
const (
	sharedComponents = 10
	biggestBatch     = 30
	trimEvery        = 4 // batches
	trimMost         = 100
)

// record records batches of results of components that all workers share, and
// trims now and then. It tells what it is about to do and what it has done.
func (w *workerRun) record(ctx context.Context) error {
	retention := registry.Retention{Raw: time.Hour, Hourly: time.Hour, MaxBytes: w.MaxBytes}
	for step := range w.Steps {
		batch := make([]registry.Record, 1+w.draw.IntN(biggestBatch))
		ids := make([]string, len(batch))
		for i := range batch {
			batch[i] = w.result()
			ids[i] = batch[i].ID
		}
		if err := w.out.Encode(event{Op: opTrying, IDs: ids}); err != nil {
			return err
		}
		told := answer(opRecorded, "", w.Agent, w.db.Record(ctx, nil, batch))
		told.IDs = ids
		if err := w.out.Encode(told); err != nil {
			return err
		}
		if step%trimEvery != 0 {
			continue
		}
		removed, err := w.db.Trim(ctx, time.Now(), retention, trimMost)
		told = answer(opTrimmed, "", w.Agent, err)
		told.Count = removed
		if err := w.out.Encode(told); err != nil {
			return err
		}
	}
	return nil
}

// result is one of a random component, with tools of a few kinds.
func (w *workerRun) result() registry.Record {
	component, cause := nameOf(w.draw.IntN(sharedComponents)), registry.Cause("")
	if w.draw.IntN(3) == 0 {
		cause = registry.ZeroTools
	}
	return recordOf(component, found(time.Now(), cause, tools(fmt.Sprint("tools ", w.draw.IntN(3)))))
}

// hold takes the lease, records under its fence, waits for a signal, and records
// once more.
func (w *workerRun) hold(ctx context.Context) error {
	seen, err := w.db.Lease(ctx)
	if err != nil {
		return err
	}
	held, taken, err := w.db.TakeLease(ctx, seen, string(w.Agent))
	if err != nil || !taken {
		return errors.Join(err, fmt.Errorf("the lease was not to be had: %+v", held))
	}
	if err := w.out.Encode(event{Op: opHeld, Count: int(held.Fence)}); err != nil {
		return err
	}
	for range 2 {
		record := w.result()
		told := answer(opRecorded, "", w.Agent, w.db.Record(ctx, &held.Fence, []registry.Record{record}))
		told.IDs = []string{record.ID}
		if err := w.out.Encode(told); err != nil {
			return err
		}
		var signal bool
		if err := w.in.Decode(&signal); err != nil {
			return err
		}
	}
	return nil
}
