package examiner_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
)

// TestGlance_showsWhatAListenerIsToldOf has one process probe, and another one show
// what it found to whoever is told that it happened.
func TestGlance_showsWhatAListenerIsToldOf(t *testing.T) {
	t.Parallel()
	for name, location := range map[string]func(testing.TB) string{"SQLite": storetest.SQLite, "PostgreSQL": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := location(t)
			var databases [2]*store.Database
			for i := range databases {
				var err error
				if databases[i], err = store.Open(t.Context(), at, store.Options{}); err != nil {
					t.Fatal(err)
				}
				defer databases[i].Close()
			}
			probing := startNightly(t, registry.Slot{}, func(o *examiner.Options) { o.Store = databases[0] })
			showing := startWith(t, probing.registered, func(o *examiner.Options) { o.Store, o.Now = databases[1], probing.clock.now })
			seen := examiner.NewGlance(showing.Examiner)
			follower := feed.NewFollower(feed.Options{Store: databases[1], Now: time.Now, Before: func(ctx context.Context, events []feed.Event) {
				if len(events) == 0 {
					seen.Doubt()
				}
				for _, each := range events {
					if err := seen.Refresh(ctx, []string{each.Subject}); err != nil {
						t.Error(err)
					}
				}
			}})
			ctx, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			defer all.Wait()
			defer stop()
			all.Go(func() { _ = seen.Run(ctx) })
			all.Go(func() { _ = follower.Run(ctx) })
			listening, err := follower.Subscribe(&feed.Position{})
			if err != nil {
				t.Fatal(err)
			}
			defer listening.Close()
			for i, want := range []registry.Status{registry.Available, registry.Unavailable, registry.Available} {
				// Within its second of the clock, a glance would not look again by itself.
				attention(t, seen, 1)
				probing.primary.dead.Store(want == registry.Unavailable)
				probing.clock.pass(10 * time.Millisecond)
				if _, err := probing.Probe(t.Context(), "asm"); err != nil {
					t.Fatal(err)
				}
				events, reset, err := listening.Next(t.Context())
				if err != nil || reset || len(events) != 1 || events[0].What != string(want) {
					t.Fatalf("told %+v, reset %v, %v", events, reset, err)
				}
				page, err := seen.Components(t.Context(), registry.ComponentQuery{Status: want})
				if err != nil || len(page.Components) != 1 || page.Components[0].Name != "asm" {
					t.Errorf("%d: of the status %s are listed %+v, %v", i, want, page.Components, err)
				}
				if counts, names := attention(t, seen, 1); (names[0] == "asm unavailable") != (want == registry.Unavailable) {
					t.Errorf("%d: when told that it is %s, one sees %+v, %v", i, want, counts, names)
				}
			}
		})
	}
}
