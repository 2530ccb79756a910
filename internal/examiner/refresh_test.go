package examiner_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

func TestRefresh_makesAComponentThatTurnsRedNewForEverybody(t *testing.T) {
	t.Parallel()
	b := start(t, fleet(4))
	seen := examiner.NewGlance(b.Examiner)
	for i := range 4 {
		b.finds(t, fleetName(i), registry.OutcomePassed)
	}
	state := func() (counts registry.StatusCounts, first string, red int) {
		t.Helper()
		counts, names := attention(t, seen, 1)
		page, err := seen.Components(t.Context(), registry.ComponentQuery{Status: registry.Unavailable})
		if err != nil {
			t.Fatal(err)
		}
		return counts, names[0], len(page.Components)
	}
	if counts, first, red := state(); counts != (registry.StatusCounts{Available: 4}) || first != "c00000 available" || red != 0 {
		t.Errorf("at first: %+v, %s, %d", counts, first, red)
	}
	b.clock.pass(100 * time.Millisecond)
	b.finds(t, "c00002", registry.OutcomeFailed)
	if _, first, _ := state(); first != "c00000 available" {
		t.Errorf("nothing is kept in mind: %s", first)
	}
	b.questions()
	if err := seen.Refresh(t.Context(), []string{"c00002", "gone"}); err != nil {
		t.Fatal(err)
	}
	if counts, first, red := state(); counts != (registry.StatusCounts{Available: 3, Unavailable: 1, Attention: 1}) || first != "c00002 unavailable" || red != 1 {
		t.Errorf("after the refresh: %+v, %s, %d", counts, first, red)
	}
	if got := b.questions(); got != 2 { // for the refresh, and for the page
		t.Errorf("the store was asked %d times", got)
	}
}

// TestRefresh_isNotUndoneByAReadingThatBeganBefore has a reading of all under way
// when a component turns red.
func TestRefresh_isNotUndoneByAReadingThatBeganBefore(t *testing.T) {
	t.Parallel()
	running(t, 2, plain, func(t *testing.T, b bench, seen *examiner.Glance) {
		b.finds(t, "c00001", registry.OutcomePassed)
		attention(t, seen, 1)
		<-time.After(2 * time.Second)
		b.store.whenRead(func() {}, func([]string) { <-time.After(time.Second) })
		attention(t, seen, 1) // has it read behind its back
		<-time.After(500 * time.Millisecond)
		b.finds(t, "c00001", registry.OutcomeFailed)
		if err := seen.Refresh(t.Context(), []string{"c00001"}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, names := attention(t, seen, 1); names[0] != "c00001 unavailable" {
				t.Errorf("after the refresh: %v", names)
			}
			<-time.After(time.Second)
		}
	})
}

// TestRefresh_thatFailsLeavesNothingOldBehind has the store fail, and the time for
// it be over.
func TestRefresh_thatFailsLeavesNothingOldBehind(t *testing.T) {
	t.Parallel()
	running(t, 2, plain, func(t *testing.T, b bench, seen *examiner.Glance) {
		turns := func(outcome registry.Outcome, want string, refresh func()) {
			t.Helper()
			attention(t, seen, 1)
			<-time.After(10 * time.Millisecond)
			b.finds(t, "c00001", outcome)
			refresh()
			if _, names := attention(t, seen, 1); names[0] != want {
				t.Errorf("after a refresh that failed: %v, want %s", names, want)
			}
		}
		turns(registry.OutcomeFailed, "c00001 unavailable", func() {
			b.store.breakDown(errBroken)
			wantFault(t, seen.Refresh(t.Context(), []string{"c00001"}), fault.Unavailable)
			_, err := seen.Attention(t.Context(), 1)
			wantFault(t, err, fault.Unavailable)
			b.store.breakDown(nil)
			<-time.After(time.Second)
		})
		turns(registry.OutcomePassed, "c00000 probing", func() {
			<-time.After(2 * time.Second)
			b.store.whenRead(func() {}, func([]string) { <-time.After(time.Second) })
			attention(t, seen, 1)
			<-time.After(time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			wantFault(t, seen.Refresh(ctx, []string{"c00001"}), fault.Unavailable)
		})
	})
}

// TestRefresh_undoesNothingThatWasReadMeanwhile has all be read anew while one of
// them is.
func TestRefresh_undoesNothingThatWasReadMeanwhile(t *testing.T) {
	t.Parallel()
	running(t, 3, plain, func(t *testing.T, b bench, seen *examiner.Glance) {
		b.store.whenRead(func() {}, func(names []string) {
			if len(names) == 1 {
				<-time.After(time.Second)
			}
		})
		attention(t, seen, 1)
		<-time.After(2 * time.Second)
		b.finds(t, "c00002", registry.OutcomeFailed)
		var all sync.WaitGroup
		all.Go(func() {
			if err := seen.Refresh(t.Context(), []string{"c00001"}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		attention(t, seen, 1) // has all be read
		all.Wait()
		synctest.Wait()
		if _, names := attention(t, seen, 1); names[0] != "c00002 unavailable" {
			t.Errorf("when both had ended: %v", names)
		}
	})
}
