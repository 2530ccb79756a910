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

// TestRefresh_thatFailsHasAllReadAnew has the store fail, and the time for it be over:
// what is kept is shown until all can be read anew, and no longer.
func TestRefresh_thatFailsHasAllReadAnew(t *testing.T) {
	t.Parallel()
	running(t, 2, plain, func(t *testing.T, b bench, seen *examiner.Glance) {
		shows := func(want string) {
			t.Helper()
			if _, names := attention(t, seen, 1); names[0] != want {
				t.Errorf("it shows %v, want %s", names, want)
			}
		}
		shows("c00000 probing")
		b.finds(t, "c00001", registry.OutcomeFailed)
		b.store.breakDown(errBroken)
		wantFault(t, seen.Refresh(t.Context(), []string{"c00001"}), fault.Unavailable)
		for range 29 {
			shows("c00000 probing")
			<-time.After(time.Second)
		}
		<-time.After(time.Second)
		_, err := seen.Attention(t.Context(), 1)
		wantFault(t, err, fault.Unavailable) // it is too old
		b.store.breakDown(nil)
		<-time.After(time.Second)
		shows("c00001 unavailable")

		b.store.whenRead(func() { <-time.After(time.Second) }, func([]string) {})
		var all sync.WaitGroup
		all.Go(func() {
			if err := seen.Refresh(t.Context(), []string{"c00000"}); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		b.finds(t, "c00001", registry.OutcomePassed)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		wantFault(t, seen.Refresh(ctx, []string{"c00001"}), fault.Unavailable)
		shows("c00000 probing")
		all.Wait()
	})
}

// TestRefresh_isShownThoughAllTakesLongToRead has all of a large fleet take longer to
// read than anybody waits, while components change again and again.
func TestRefresh_isShownThoughAllTakesLongToRead(t *testing.T) {
	t.Parallel()
	running(t, 3, plain, func(t *testing.T, b bench, seen *examiner.Glance) {
		attention(t, seen, 1)
		b.store.whenRead(func() {}, func(names []string) {
			if len(names) == 3 {
				<-time.After(6 * time.Second)
			}
		})
		for i := range 60 {
			outcome, isRed := registry.OutcomeFailed, i/3%2 == 0
			if !isRed {
				outcome = registry.OutcomePassed
			}
			if i%3 == 0 {
				b.finds(t, "c00002", outcome)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				if err := seen.Refresh(ctx, []string{"c00002"}); err != nil {
					t.Errorf("after %d s: %v", i, err)
				}
				cancel()
			}
			began := time.Now()
			if _, names := attention(t, seen, 1); (names[0] == "c00002 unavailable") != isRed || time.Since(began) > 0 {
				t.Errorf("after %d s it shows %v after waiting %v; it is red: %t", i, names, time.Since(began), isRed)
			}
			<-time.After(time.Second)
		}
	})
}

// TestGlance_isShownWhileItIsDoubted has all be doubted again and again before it
// could be read anew.
func TestGlance_isShownWhileItIsDoubted(t *testing.T) {
	t.Parallel()
	running(t, 3, plain, func(t *testing.T, b bench, seen *examiner.Glance) {
		attention(t, seen, 1)
		b.store.whenRead(func() {}, func([]string) { <-time.After(6 * time.Second) })
		for range 20 {
			seen.Doubt()
			attention(t, seen, 1)
			<-time.After(3 * time.Second)
		}
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
