package feed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/feed"
)

// restless listens until it has seen the last of so many events, and leaves and
// resumes meanwhile, as connections break: it remembers nothing but its position.
type restless struct {
	random *rand.Rand
	leaves float64       // how likely it leaves after each Next
	away   time.Duration // for how long at most
	seen   []feed.Position
}

func (r *restless) listen(ctx context.Context, to interface {
	Subscribe(after *feed.Position) (*feed.Subscription, error)
}, after feed.Position, many int,
) error {
	for len(r.seen) < many {
		listening, err := to.Subscribe(&after)
		if err != nil {
			return err
		}
		for len(r.seen) < many && r.random.Float64() >= r.leaves {
			events, reset, err := listening.Next(ctx)
			if err != nil || reset {
				return fmt.Errorf("reset %v, %w", reset, err)
			}
			for i := range events {
				r.seen = append(r.seen, events[i].ID)
			}
			after = listening.Position()
		}
		listening.Close()
		<-time.After(time.Duration(r.random.Int64N(int64(r.away))))
	}
	return nil
}

// differs says where what was seen is not what happened.
func (r *restless) differs(happened []feed.Event) string {
	for i, each := range r.seen {
		if i >= len(happened) || each != happened[i].ID {
			return fmt.Sprintf("event %d of %d is seen as %s", i, len(happened), each)
		}
	}
	if len(r.seen) != len(happened) {
		return fmt.Sprintf("%d events are seen of %d", len(r.seen), len(happened))
	}
	return ""
}

// TestListeners_seeEveryEventOnceThoughTheyLeaveAndResume has a hundred of them, of
// which some stay away until the store has to help them.
func TestListeners_seeEveryEventOnceThoughTheyLeaveAndResume(t *testing.T) {
	t.Parallel()
	const listeners, many = 100, 3 * feed.MaxHeld
	run(t, plain, func(t *testing.T, b bench) {
		from := b.store.end()
		all := make([]restless, listeners)
		var group sync.WaitGroup
		for i := range all {
			all[i] = restless{
				random: rand.New(rand.NewPCG(7, uint64(i))), leaves: float64(i%5) / 10,
				away: time.Duration(1+i*i) * 2 * time.Millisecond,
			}
			group.Go(func() {
				if err := all[i].listen(t.Context(), b, from, many); err != nil {
					t.Errorf("listener %d: %v", i, err)
				}
			})
		}
		random := rand.New(rand.NewPCG(7, listeners))
		for left := many; left > 0; {
			n := min(left, random.IntN(400))
			b.store.happen(n)
			left -= n
			<-time.After(time.Duration(random.Int64N(int64(400 * time.Millisecond))))
		}
		group.Wait()
		for i := range all {
			if diff := all[i].differs(b.store.events[from.Number:]); diff != "" {
				t.Errorf("listener %d: %s", i, diff)
			}
		}
	})
}
