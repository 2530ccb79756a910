package store

import (
	"context"
	"errors"
	"testing"
)

// TestTransact_leavesNoTransactionOpenWhenItsCallerGoes cancels writes while they
// begin, at every moment that the loop happens to meet. SQLite may have begun the
// transaction whose BEGIN is reported as cancelled; left open, it would lock the
// file against every process.
func TestTransact_leavesNoTransactionOpenWhenItsCallerGoes(t *testing.T) {
	_, engine := openEngine(t)
	look := func(context.Context, session) error { return errNothingToKeep }
	for round := range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			for range round % 50 * 20 {
				_ = ctx.Err() // takes a little time
			}
			cancel()
		}()
		gone := engine.transact(ctx, look)
		<-left
		if gone != nil && !errors.Is(gone, context.Canceled) {
			t.Fatalf("round %d: %v", round, gone)
		}
		if err := engine.transact(t.Context(), look); err != nil {
			t.Fatalf("round %d: the write after a cancelled one (%v): %v", round, gone, err)
		}
	}
}
