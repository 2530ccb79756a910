package examiner_test

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// running calls test in a bubble, on the clock of which a glance at a fleet runs.
func running(t *testing.T, size int, adjust func(*examiner.Options), test func(*testing.T, bench, *examiner.Glance)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := startWith(t, fleet(size), func(o *examiner.Options) { o.Now = time.Now; adjust(o) })
		<-time.After(time.Second) // no result is older than its component
		seen := examiner.NewGlance(b.Examiner)
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if err := seen.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		defer all.Wait()
		defer stop()
		synctest.Wait()
		test(t, b, seen)
	})
}

// questions is how often the store was asked since the last call.
func (b bench) questions() int {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	asked := len(b.store.asked)
	b.store.asked = nil
	return asked
}

// attention is the counts, and the names and statuses of whom to look at.
func attention(t *testing.T, of interface {
	Attention(ctx context.Context, limit int) (registry.Attention, error)
}, limit int,
) (registry.StatusCounts, []string) {
	t.Helper()
	got, err := of.Attention(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, each := range got.Components {
		names = append(names, each.Name+" "+string(each.Status))
	}
	return got.Counts, names
}

// TestGlance_isReadOnceForAllWhoAsk has nobody read behind the back of who asks.
func TestGlance_isReadOnceForAllWhoAsk(t *testing.T) {
	t.Parallel()
	b := start(t, fleet(3))
	seen := examiner.NewGlance(b.Examiner)
	ask := func() {
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if got, err := seen.Readings(t.Context()); err != nil || len(got) != 3 {
					t.Errorf("got %v, %v", got, err)
				}
			})
		}
		all.Wait()
	}
	for i := range 3 {
		ask()
		if got := b.questions(); got != 1 {
			t.Errorf("the store was asked %d times, want once (%d)", got, i)
		}
		b.clock.pass(999 * time.Millisecond)
		ask()
		if got := b.questions(); got != 0 {
			t.Errorf("within a second the store was asked %d times more", got)
		}
		b.clock.pass(time.Millisecond)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	began, let := make(chan struct{}), make(chan struct{})
	b.store.reads = func() { close(began); <-let }
	var all sync.WaitGroup
	all.Go(ask)
	<-began
	_, err := seen.Readings(gone)
	wantFault(t, err, fault.Unavailable)
	close(let)
	all.Wait()
}

// TestGlance_isReadAnewBehindWhoAsks lets a reading take half a second, for which
// nobody waits while what is kept is young enough.
func TestGlance_isReadAnewBehindWhoAsks(t *testing.T) {
	t.Parallel()
	running(t, 3, plain, func(t *testing.T, b bench, seen *examiner.Glance) {
		b.store.reads = func() { <-time.After(500 * time.Millisecond) }
		ask := func(want ...string) time.Duration {
			t.Helper()
			at := time.Now()
			if _, names := attention(t, seen, 1); !cmp.Equal(want, names) {
				t.Errorf("got %v, want %v", names, want)
			}
			return time.Since(at)
		}
		if took := ask("c00000 probing"); took != 500*time.Millisecond {
			t.Errorf("the first one waited %v", took)
		}
		<-time.After(10 * time.Second)
		b.questions()
		b.finds(t, "c00002", registry.OutcomeFailed)
		if took := ask("c00000 probing"); took != 0 {
			t.Errorf("what is 10s old was waited for: %v", took)
		}
		<-time.After(501 * time.Millisecond)
		if took := ask("c00002 unavailable"); took != 0 {
			t.Errorf("what had just been read was waited for: %v", took)
		}
		// Once more, for the last one who asked, and then no more.
		<-time.After(time.Hour)
		if got := b.questions(); got != 2 {
			t.Errorf("the store was asked %d times, want twice", got)
		}
		b.finds(t, "c00000", registry.OutcomeFailed)
		if took := ask("c00000 unavailable"); took != 500*time.Millisecond {
			t.Errorf("what is an hour old was waited for %v", took)
		}
		// However often it is asked for.
		b.questions()
		for range 1000 {
			ask("c00000 unavailable")
			<-time.After(10 * time.Millisecond)
		}
		if got := b.questions(); got > 10 {
			t.Errorf("in ten seconds the store was asked %d times", got)
		}
	})
}

// TestGlance_tellsWithinTwoSecondsWhatOnlyTheClockChanges asks just after results
// have grown too old, when others have asked shortly before, and two seconds later.
func TestGlance_tellsWithinTwoSecondsWhatOnlyTheClockChanges(t *testing.T) {
	t.Parallel()
	for _, before := range []time.Duration{time.Millisecond, 500 * time.Millisecond, 999 * time.Millisecond, 3 * time.Second} {
		running(t, 2, plain, func(t *testing.T, b bench, seen *examiner.Glance) {
			b.finds(t, "c00000", registry.OutcomePassed)
			b.finds(t, "c00001", registry.OutcomePassed)
			end := time.Now().Add(b.Registered().Components[0].Policy().TTL)
			<-time.After(time.Until(end.Add(-before)))
			if counts, names := attention(t, seen, 1); counts.Available != 2 || names[0] != "c00000 available" {
				t.Errorf("got %+v, %v", counts, names)
			}
			<-time.After(before + time.Millisecond)
			attention(t, seen, 1)
			<-time.After(2 * time.Second)
			counts, names := attention(t, seen, 1)
			page, err := seen.Components(t.Context(), registry.ComponentQuery{Status: registry.Unknown})
			if counts.Unknown != 2 || counts.Attention != 2 || names[0] != "c00000 unknown" || err != nil || len(page.Components) != 2 {
				t.Errorf("read %v before: %+v, %v, %d listed, %v", before, counts, names, len(page.Components), err)
			}
		})
	}
}

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
		b.store.answers = func() { <-time.After(time.Second) }
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
			b.store.answers = func() { <-time.After(time.Second) }
			attention(t, seen, 1)
			<-time.After(time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			wantFault(t, seen.Refresh(ctx, []string{"c00001"}), fault.Unavailable)
		})
	})
}

func TestGlance_isAboutWhatIsRegistered(t *testing.T) {
	t.Parallel()
	b := start(t, fleet(3))
	seen := examiner.NewGlance(b.Examiner)
	attention(t, seen, 0)
	if err := b.Use(t.Context(), fleet(5)); err != nil {
		t.Fatal(err)
	}
	if err := seen.Refresh(t.Context(), []string{"c00004"}); err != nil {
		t.Fatal(err)
	}
	if counts, names := attention(t, seen, 0); counts.Probing != 5 || len(names) != 5 {
		t.Errorf("got %+v, %v", counts, names)
	}
}

func TestGlance_sharesAFailureAndLogsItOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	running(t, 3, func(o *examiner.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) }, func(t *testing.T, b bench, seen *examiner.Glance) {
		attention(t, seen, 1)
		<-time.After(20 * time.Second)
		b.store.breakDown(errBroken)
		b.questions()
		for range 100 {
			_, err := seen.Attention(t.Context(), 1)
			wantFault(t, err, fault.Unavailable)
			_, err = seen.Readings(t.Context())
			wantFault(t, err, fault.Unavailable)
			_, err = seen.Components(t.Context(), registry.ComponentQuery{Status: registry.Available})
			wantFault(t, err, fault.Unavailable)
			<-time.After(100 * time.Millisecond)
		}
		if got := b.questions(); got > 11 {
			t.Errorf("in ten seconds of failure the store was asked %d times", got)
		}
		b.store.breakDown(nil)
		<-time.After(time.Second)
		attention(t, seen, 1)
		<-time.After(5 * time.Second)
		for said, times := range map[string]int{"cannot be read\"": 1, "can be read again": 1, "level=": 2} {
			if got := strings.Count(log.String(), said); got != times {
				t.Errorf("%q is said %d times, want %d:\n%s", said, got, times, log.String())
			}
		}
	})
}

// TestGlance_listsWhatTheExaminerLists holds pages, readings and attention of a
// fleet against those without a glance.
func TestGlance_listsWhatTheExaminerLists(t *testing.T) {
	t.Parallel()
	b := start(t, fleet(300))
	random := rand.New(rand.NewPCG(6, 6))
	for i := range 300 {
		for range random.IntN(3) {
			b.finds(t, fleetName(i), []registry.Outcome{registry.OutcomePassed, registry.OutcomeFailed, registry.OutcomeUndecided}[random.IntN(3)])
			b.clock.pass(time.Millisecond)
		}
	}
	seen := examiner.NewGlance(b.Examiner)
	for range 300 {
		query := registry.ComponentQuery{Limit: 1 + random.IntN(40)}
		if random.IntN(2) > 0 {
			query.Kind = []registry.Kind{registry.KindMCPServer, registry.KindModel, registry.KindHarness}[random.IntN(3)]
		}
		if random.IntN(4) > 0 {
			query.Status = registry.Statuses()[random.IntN(4)]
		}
		if random.IntN(2) > 0 {
			query.Search = []string{"1", "02", "C", "c0000", "99", "x"}[random.IntN(6)]
		}
		if random.IntN(2) > 0 {
			query.Cursor = fleetName(random.IntN(300))
		}
		want, err := b.Components(t.Context(), query)
		got, errOfGlance := seen.Components(t.Context(), query)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || errOfGlance != nil {
			t.Fatalf("%+v: %v, %v (-without +with):\n%s", query, err, errOfGlance, diff)
		}
	}
	for _, limit := range []int{0, 1, 7, 100} {
		want, err := b.Attention(t.Context(), limit)
		got, errOfGlance := seen.Attention(t.Context(), limit)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || errOfGlance != nil {
			t.Errorf("limit %d: %v, %v (-without +with):\n%s", limit, err, errOfGlance, diff)
		}
	}
	want, err := b.Readings(t.Context())
	got, errOfGlance := seen.Readings(t.Context())
	if diff := cmp.Diff(want, got); diff != "" || err != nil || errOfGlance != nil {
		t.Errorf("%v, %v (-without +with):\n%s", err, errOfGlance, diff)
	}
}

// TestGlance_readsOnlyThePageItShows lists a fleet of which a hundredth is red, and
// one that is a hundred times as large.
func TestGlance_readsOnlyThePageItShows(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 10_000} {
		b := start(t, fleet(size))
		for i := size / 2; i < size/2+20; i++ {
			b.finds(t, fleetName(i), registry.OutcomeFailed)
		}
		seen := examiner.NewGlance(b.Examiner)
		attention(t, seen, 1)
		for name, row := range map[string]struct {
			query registry.ComponentQuery
			reads int
		}{
			"of a status":  {registry.ComponentQuery{Status: registry.Unavailable, Limit: 10}, 11},
			"the rest":     {registry.ComponentQuery{Status: registry.Unavailable, Limit: 10, Cursor: fleetName(size/2 + 9)}, 10},
			"of no status": {registry.ComponentQuery{Status: registry.Unknown}, 0},
			"of a search":  {registry.ComponentQuery{Search: fleetName(size / 2)[:5], Limit: 5, Status: registry.Unavailable}, 6},
			"of a name":    {registry.ComponentQuery{Search: fleetName(size - 1)}, 1},
			"of all":       {registry.ComponentQuery{Limit: 10}, 11},
		} {
			b.store.asked = nil
			if _, err := seen.Components(t.Context(), row.query); err != nil {
				t.Error(err)
			}
			read := 0
			for _, names := range b.store.asked {
				read += len(names)
			}
			if read != row.reads {
				t.Errorf("of %d components %d were read for a page %s, want %d", size, read, name, row.reads)
			}
		}
	}
}

// TestGlance_goesOnWhereComponentsHaveLeftTheirStatus lists a status that most have
// left since they were looked at.
func TestGlance_goesOnWhereComponentsHaveLeftTheirStatus(t *testing.T) {
	t.Parallel()
	b := start(t, fleet(200))
	seen := examiner.NewGlance(b.Examiner)
	attention(t, seen, 1)
	var want, got []string
	for i := range 200 {
		if i%50 == 49 {
			want = append(want, fleetName(i))
			continue
		}
		b.finds(t, fleetName(i), registry.OutcomePassed)
	}
	pages := 0
	for query := (registry.ComponentQuery{Status: registry.Probing, Limit: 5}); pages == 0 || query.Cursor != ""; pages++ {
		b.questions()
		page, err := seen.Components(t.Context(), query)
		if err != nil || pages > 200 {
			t.Fatalf("page %d: %v", pages, err)
		}
		for _, each := range page.Components {
			got = append(got, each.Name)
		}
		if asked := b.questions(); asked > 4 {
			t.Errorf("a page took %d questions", asked)
		}
		query.Cursor = page.NextCursor
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGlance_withstandsAllAtOnce has everything happen at the same time.
func TestGlance_withstandsAllAtOnce(t *testing.T) {
	t.Parallel()
	running(t, 50, plain, func(t *testing.T, b bench, seen *examiner.Glance) {
		b.store.reads = func() { <-time.After(10 * time.Millisecond) }
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				for n := range 100 {
					name := fleetName((i*7 + n) % 50)
					switch n % 5 {
					case 0:
						b.finds(t, name, []registry.Outcome{registry.OutcomePassed, registry.OutcomeFailed}[(n/5)%2])
						if err := seen.Refresh(t.Context(), []string{name}); err != nil {
							t.Error(err)
						}
					case 1:
						if _, err := seen.Components(t.Context(), registry.ComponentQuery{Status: registry.Available}); err != nil {
							t.Error(err)
						}
					case 2:
						<-time.After(time.Duration(i*n) * time.Millisecond)
					default:
						got, err := seen.Attention(t.Context(), 100)
						sum := got.Counts.Available + got.Counts.Unavailable + got.Counts.Probing + got.Counts.Unknown
						if err != nil || len(got.Components) != 50 || sum != 50 {
							t.Errorf("%d of %d, %v", len(got.Components), sum, err)
						}
					}
				}
			})
		}
		all.Wait()
		b.store.reads = func() {}
		<-time.After(5 * time.Second)
		attention(t, seen, 1)
		<-time.After(2 * time.Second)
		got, err := seen.Attention(t.Context(), 100)
		want, errOfStore := b.Attention(t.Context(), 100)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || errOfStore != nil {
			t.Errorf("%v, %v (-without +with):\n%s", err, errOfStore, diff)
		}
	})
}

func TestAttention_refusesALimitThatIsNone(t *testing.T) {
	t.Parallel()
	b := start(t, fleet(1))
	seen := examiner.NewGlance(b.Examiner)
	for _, limit := range []int{-1, registry.MaxPage + 1} {
		_, err := b.Attention(t.Context(), limit)
		wantFault(t, err, fault.InvalidArgument)
		_, err = seen.Attention(t.Context(), limit)
		wantFault(t, err, fault.InvalidArgument)
	}
	_, err := seen.Components(t.Context(), registry.ComponentQuery{Status: "green"})
	wantFault(t, err, fault.InvalidArgument)
	b.store.breakDown(errBroken)
	_, err = b.Attention(t.Context(), 1)
	wantFault(t, err, fault.Unavailable)
}
