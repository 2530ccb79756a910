package httpapi

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/schema"
)

// restless is a store in which something new has happened at each reading.
type restless struct {
	mu     sync.Mutex
	number int64
}

func (r *restless) Events(_ context.Context, after feed.Position, _ int) ([]feed.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number = max(r.number, after.Number+1)
	return []feed.Event{{ID: feed.Position{Number: r.number}, Kind: feed.Component, Subject: "other", What: "available", At: time.Now()}}, nil
}

func (r *restless) Ends(context.Context) (before, newest feed.Position, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return before, feed.Position{Number: r.number}, nil
}

func (*restless) RollUp(context.Context, time.Time) (bool, error) { return false, nil }

// ticksOf returns when a stream ticked, and all that it told, while something else
// happens several times a second.
func ticksOf(t *testing.T, wanted schema.Subject[feed.Kind], within time.Duration) (ticks []time.Duration, all string) {
	t.Helper()
	follow(t, &restless{}, within, func(ctx context.Context, subscription *feed.Subscription) {
		told := &clocked{ResponseRecorder: httptest.NewRecorder(), began: time.Now()}
		(&stream{w: told, wanted: wanted, tick: tickTime}).run(ctx, subscription)
		ticks, all = told.ticks, told.Body.String()
	})
	return ticks, all
}

// follow lets somebody listen to what a server reads of a store, for some time of a
// clock of its own.
func follow(t *testing.T, store feed.Store, within time.Duration, listen func(context.Context, *feed.Subscription)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		follower := feed.NewFollower(feed.Options{Store: store, Now: time.Now})
		ctx, stop := context.WithTimeout(t.Context(), within)
		defer stop()
		var ran sync.WaitGroup
		ran.Go(func() { _ = follower.Run(ctx) })
		synctest.Wait()
		subscription, err := follower.Subscribe(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer subscription.Close()
		listen(ctx, subscription)
		ran.Wait()
	})
}

// clocked notes when it is told of a tick.
type clocked struct {
	*httptest.ResponseRecorder

	began time.Time
	ticks []time.Duration
}

func (c *clocked) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "event: tick\ndata: {}\n\n") {
		c.ticks = append(c.ticks, time.Since(c.began))
	}
	return c.ResponseRecorder.Write(p)
}

// An open page of one component listens to all events, and shows by a tick that its
// result is too old.
func TestEvents_tickThoughOthersNeverRest(t *testing.T) {
	for name, wanted := range map[string]schema.Subject[feed.Kind]{
		"who is told of all": {}, "who is told of none": {Run: "yearly"},
	} {
		const most = 10
		ticks, all := ticksOf(t, wanted, most*tickTime+time.Second)
		if len(ticks) != most {
			t.Errorf("%s is told of %d ticks in the time of %d: %v", name, len(ticks), most, ticks)
		}
		for i, at := range ticks {
			if late := at - time.Duration(i+1)*tickTime; late < 0 || late > time.Second {
				t.Errorf("%s: tick %d came after %v", name, i+1, at)
			}
		}
		if events := strings.Count(all, "event: component"); (wanted.Run == "") != (events > most*50) {
			t.Errorf("%s is told of %d events of others", name, events)
		}
	}
}

// TestEvents_beginOnceTheServerKnowsWhereItIs has a server that has yet to read what
// happened: who listens is told of time, and of no place that is none.
func TestEvents_beginOnceTheServerKnowsWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		follower := feed.NewFollower(feed.Options{Store: &restless{number: 7}, Now: time.Now})
		ctx, stop := context.WithTimeout(t.Context(), 2*tickTime+time.Second)
		defer stop()
		subscription, err := follower.Subscribe(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer subscription.Close()
		var ran sync.WaitGroup
		ran.Go(func() {
			<-time.After(tickTime + time.Second)
			_ = follower.Run(ctx)
		})
		told := httptest.NewRecorder()
		(&stream{w: told, wanted: schema.Subject[feed.Kind]{Run: "yearly"}, tick: tickTime}).run(ctx, subscription)
		ran.Wait()
		got := regexp.MustCompile(`(id: .*\n)?event: beat\ndata: {}\n\n`).ReplaceAllString(told.Body.String(), "")
		want := "event: tick\ndata: {}\n\nid: 0-N\nevent: ready\ndata: {}\n\nid: 0-N\nevent: tick\ndata: {}\n\n"
		if regexp.MustCompile(`0-[1-9]\d*`).ReplaceAllString(got, "0-N") != want {
			t.Errorf("it is told\n%s", got)
		}
	})
}

// quiet is a store in which nothing happens, which counts who asks it.
type quiet struct {
	restless

	asked atomic.Int64
}

func (q *quiet) Events(context.Context, feed.Position, int) ([]feed.Event, error) {
	q.asked.Add(1)
	return nil, nil
}

// An open page takes a server that tells it nothing for three beats for one that is gone.
func TestEvents_tellASilentClientThatTheServerIsThere(t *testing.T) {
	const rounds = 4
	asked := map[bool]int64{}
	for _, listens := range []bool{false, true} {
		store := &quiet{}
		follow(t, store, rounds*tickTime+time.Second, func(ctx context.Context, subscription *feed.Subscription) {
			if !listens {
				return
			}
			told := &spaced{ResponseRecorder: httptest.NewRecorder(), last: time.Now()}
			(&stream{w: told, tick: tickTime}).run(ctx, subscription)
			all := told.Body.String()
			if beats, ticks := strings.Count(all, "event: beat\ndata: {}\n\n"), strings.Count(all, "event: tick\n"); beats != rounds*5 || ticks != rounds || told.longest != beatTime {
				t.Errorf("who listens hears %d beats and %d ticks, and nothing for %v", beats, ticks, told.longest)
			}
		})
		asked[listens] = store.asked.Load()
	}
	if asked[true] > asked[false]+rounds { // Beats and ticks are 24.
		t.Errorf("the store is asked %d times while one listens, and %d times while nobody does", asked[true], asked[false])
	}
}

// spaced notes for how long it is told nothing at most.
type spaced struct {
	*httptest.ResponseRecorder

	last    time.Time
	longest time.Duration
}

func (s *spaced) Write(p []byte) (int, error) {
	s.longest, s.last = max(s.longest, time.Since(s.last)), time.Now()
	return s.ResponseRecorder.Write(p)
}
