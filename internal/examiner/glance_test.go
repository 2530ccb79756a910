package examiner_test

import (
	"bytes"
	"context"
	"log/slog"
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
	runningWith(t, fleet(size), adjust, test)
}

// runningWith is running, of what is registered.
func runningWith(t *testing.T, registered *registry.Registered, adjust func(*examiner.Options), test func(*testing.T, bench, *examiner.Glance)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := startWith(t, registered, func(o *examiner.Options) { o.Now = time.Now; adjust(o) })
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
	b.store.whenRead(func() { close(began); <-let }, func([]string) {})
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
		b.store.whenRead(func() { <-time.After(500 * time.Millisecond) }, func([]string) {})
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

// TestGlance_isNotReadBehindThoseWhoHaveReadIt has nobody ask after a reading that
// whoever asked waited for.
func TestGlance_isNotReadBehindThoseWhoHaveReadIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := startWith(t, fleet(3), func(o *examiner.Options) { o.Now = time.Now })
		seen := examiner.NewGlance(b.Examiner)
		attention(t, seen, 1)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := seen.Run(ctx); err != nil {
			t.Error(err)
		}
		if got := b.questions(); got != 1 {
			t.Errorf("the store was asked %d times, want once", got)
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
		<-time.After(40 * time.Second)
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
		synctest.Wait()
		for said, times := range map[string]int{"cannot be read\"": 1, "can be read again": 1, "level=": 2} {
			if got := strings.Count(log.String(), said); got != times {
				t.Errorf("%q is said %d times, want %d:\n%s", said, got, times, log.String())
			}
		}
	})
}

// TestGlance_withstandsAllAtOnce has everything happen at the same time.
func TestGlance_withstandsAllAtOnce(t *testing.T) {
	t.Parallel()
	running(t, 50, plain, func(t *testing.T, b bench, seen *examiner.Glance) {
		b.store.whenRead(func() { <-time.After(10 * time.Millisecond) }, func([]string) {})
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
		<-time.After(5 * time.Second)
		synctest.Wait()
		b.store.whenRead(func() {}, func([]string) {})
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
