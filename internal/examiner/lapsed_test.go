package examiner_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/registry"
)

// hasty is a fleet whose results count 9 s, less than a glance may be old.
func hasty(size int) *registry.Registered {
	registered := fleet(size)
	for i := range registered.Components {
		registered.Components[i].Interval = 3 * time.Second
	}
	return registered
}

// patrols has components pass every three seconds until the time is over, and tells
// when it has ended.
func (b bench) patrols(t *testing.T, within time.Duration, names ...string) *sync.WaitGroup {
	t.Helper()
	var all sync.WaitGroup
	end := time.Now().Add(within)
	all.Go(func() {
		for time.Now().Before(end) {
			for _, name := range names {
				b.finds(t, name, registry.OutcomePassed)
			}
			<-time.After(3 * time.Second)
		}
	})
	return &all
}

// told are the ways to ask a glance: each tells the names of what is unknown.
var told = map[string]func(context.Context, *examiner.Glance) ([]string, error){
	"readings": func(ctx context.Context, seen *examiner.Glance) ([]string, error) {
		readings, err := seen.Readings(ctx)
		return unknown(readings), err
	},
	"attention": func(ctx context.Context, seen *examiner.Glance) ([]string, error) {
		told, err := seen.Attention(ctx, registry.MaxPage)
		names := unknown(told.Components)
		if told.Counts.Unknown != len(names) || told.Counts.Attention != len(names) {
			return names, errors.New("it counts others than it lists")
		}
		return names, err
	},
	"what needs attention": func(ctx context.Context, seen *examiner.Glance) ([]string, error) {
		page, err := seen.Components(ctx, registry.ComponentQuery{Attention: true})
		return unknown(page.Components), err
	},
	"a status": func(ctx context.Context, seen *examiner.Glance) ([]string, error) {
		page, err := seen.Components(ctx, registry.ComponentQuery{Status: registry.Unknown})
		if all, _ := seen.Components(ctx, registry.ComponentQuery{Status: registry.Available}); len(all.Components)+len(page.Components) != 3 {
			return nil, errors.New("some have neither status")
		}
		return unknown(page.Components), err
	},
}

func unknown(readings []registry.Reading) []string {
	names := []string{}
	for _, each := range readings {
		if each.Status == registry.Unknown {
			names = append(names, each.Name)
		}
	}
	return names
}

// TestGlance_tellsOfAPatrolThatProbesMoreOftenThanItLooks asks every 15 s, as a
// Prometheus does, what results that count 9 s say, and then has the probes of one
// component end.
func TestGlance_tellsOfAPatrolThatProbesMoreOftenThanItLooks(t *testing.T) {
	t.Parallel()
	for way, ask := range told {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			runningWith(t, hasty(3), plain, func(t *testing.T, b bench, seen *examiner.Glance) {
				dies := b.patrols(t, 100*time.Second, fleetName(1))
				lives := b.patrols(t, 3*time.Minute, fleetName(0), fleetName(2))
				defer lives.Wait()
				for range 6 {
					<-time.After(15*time.Second + 100*time.Millisecond)
					if got, err := ask(t.Context(), seen); err != nil || len(got) > 0 {
						t.Errorf("of a patrol without a gap it says unknown: %v, %v", got, err)
					}
				}
				dies.Wait() // three seconds after the latest probe
				<-time.After(6 * time.Second)
				if got, err := ask(t.Context(), seen); err != nil || len(got) > 0 {
					t.Errorf("while the latest result counts: %v, %v", got, err)
				}
				<-time.After(time.Millisecond)
				if got, err := ask(t.Context(), seen); err != nil || !slices.Equal(got, []string{fleetName(1)}) {
					t.Errorf("without a patrol: %v, %v", got, err)
				}
			})
		})
	}
}

// TestGlance_readsWhatLapsedOnceForAllWhoAsk has two of many components grow too old
// to be told.
func TestGlance_readsWhatLapsedOnceForAllWhoAsk(t *testing.T) {
	t.Parallel()
	registered := fleet(1000)
	for _, i := range []int{5, 700} {
		registered.Components[i].Interval = 3 * time.Second
	}
	runningWith(t, registered, plain, func(t *testing.T, b bench, seen *examiner.Glance) {
		b.finds(t, fleetName(5), registry.OutcomePassed)
		b.finds(t, fleetName(700), registry.OutcomePassed)
		attention(t, seen, 1)
		<-time.After(8 * time.Second)
		b.finds(t, fleetName(5), registry.OutcomePassed)
		<-time.After(2 * time.Second)
		b.store.asked = nil
		b.store.whenRead(func() { <-time.After(100 * time.Millisecond) }, func([]string) {})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if counts, names := attention(t, seen, 1); counts.Unknown != 1 || counts.Available != 1 || names[0] != fleetName(700)+" unknown" {
					t.Errorf("got %+v, %v", counts, names)
				}
			})
		}
		all.Wait()
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		asked := slices.DeleteFunc(b.store.asked, func(names []string) bool { return len(names) == 1000 }) // behind their backs
		if diff := cmp.Diff([][]string{{fleetName(5), fleetName(700)}}, asked); diff != "" {
			t.Errorf("(-want +read):\n%s", diff)
		}
	})
}

// TestGlance_readsALargeFleetOnceForAScrape has all of many components grow too old
// between two scrapes.
func TestGlance_readsALargeFleetOnceForAScrape(t *testing.T) {
	t.Parallel()
	const size, scrapes = 10_000, 4
	runningWith(t, hasty(size), plain, func(t *testing.T, b bench, seen *examiner.Glance) {
		b.questions()
		for range scrapes {
			for i := range size {
				b.finds(t, fleetName(i), registry.OutcomePassed)
			}
			readings, err := seen.Readings(t.Context())
			if got := len(unknown(readings)); err != nil || got > 0 {
				t.Errorf("%d are unknown, %v", got, err)
			}
			<-time.After(15 * time.Second)
		}
		if got := b.questions(); got > scrapes {
			t.Errorf("for %d scrapes the store was asked %d times", scrapes, got)
		}
	})
}

// TestGlance_tellsByTheClockWhatItCannotReadAnew has the store fail.
func TestGlance_tellsByTheClockWhatItCannotReadAnew(t *testing.T) {
	t.Parallel()
	runningWith(t, hasty(3), plain, func(t *testing.T, b bench, seen *examiner.Glance) {
		for i := range 3 {
			b.finds(t, fleetName(i), registry.OutcomePassed)
		}
		attention(t, seen, 1)
		<-time.After(9*time.Second + time.Millisecond)
		b.store.breakDown(errBroken)
		b.questions()
		for range 100 {
			if got, err := told["attention"](t.Context(), seen); err != nil || len(got) != 3 {
				t.Errorf("it says unknown of %v, %v", got, err)
			}
			<-time.After(100 * time.Millisecond)
		}
		if got := b.questions(); got > 12 {
			t.Errorf("in ten seconds of failure the store was asked %d times", got)
		}
	})
}
