package feed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
	"github.com/countersign-dev/countersign/internal/task"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// process is one of the processes that share a database.
type process struct {
	*feed.Follower

	database *store.Database
	gate     *task.Gate
}

// processes are two of them, each with a follower that runs.
func processes(t *testing.T, location string) [2]process {
	t.Helper()
	var both [2]process
	for i := range both {
		database, err := store.Open(t.Context(), location, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		both[i] = process{
			database: database, gate: task.NewGate(database, time.Now),
			Follower: feed.NewFollower(feed.Options{Store: database, Now: time.Now}),
		}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if err := both[i].Run(ctx); err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(func() {
			stop()
			all.Wait()
			if err := database.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return both
}

func onEach(t *testing.T, test func(*testing.T, [2]process)) {
	t.Helper()
	for name, location := range map[string]func(testing.TB) string{"SQLite": storetest.SQLite, "PostgreSQL": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, processes(t, location(t)))
		})
	}
}

func (p process) create(t *testing.T) string {
	t.Helper()
	created, err := p.gate.Create(t.Context(), caller(), task.CreateRequest{
		Title: "work", AcceptanceCriteria: []string{"it holds"}, CreatedBy: new("alice"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(created.TaskID)
}

func caller() task.Caller { return task.Caller{Principal: task.Principal{Kind: "process", ID: "p"}} }

// TestDatabases_tellOneProcessWhatHappensInAnother makes one event of each kind and
// outcome, in one process, and listens in the other.
func TestDatabases_tellOneProcessWhatHappensInAnother(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, both [2]process) {
		here, there := both[0], both[1]
		listening, err := here.Subscribe(&feed.Position{})
		if err != nil {
			t.Fatal(err)
		}
		defer listening.Close()
		id := there.create(t)
		if _, err := there.gate.Claim(t.Context(), caller(), task.ClaimRequest{TaskID: id, AgentID: new("alice"), Evidence: "done"}); err != nil {
			t.Fatal(err)
		}
		at := time.Now().UTC().Truncate(time.Millisecond)
		record := registry.Record{
			ID: "0196f000-0000-7000-8000-000000000001", Policy: (&registry.Component{Name: "asm"}).Policy(),
			Registration: registry.Registration{Name: "asm", Kind: registry.KindMCPServer, Definition: "sha256:a"},
		}
		result := &registry.ProbeResult{ProbedAt: at, Profile: registry.ThreeGates, Healthz: registry.Fail(time.Second, registry.Timeout, "the time ran out")}
		record.Summary = result.Summary()
		if record.Document, err = result.MarshalJSON(); err != nil {
			t.Fatal(err)
		}
		if err := there.database.Record(t.Context(), nil, []registry.Record{record}); err != nil {
			t.Fatal(err)
		}
		slot := registry.Slot{Name: "recon", Primary: "asm"}
		refused := registry.NewPreflight(&registry.Run{Name: "nightly", Slots: []registry.RunSlot{{Slot: "recon", Required: true}}},
			[]registry.SlotResult{slot.Fill(true, nil)})
		if err := there.database.KeepPreflight(t.Context(), at, &refused); err != nil {
			t.Fatal(err)
		}
		want := []string{"task " + id + " pending", "task " + id + " claimed", "component asm unavailable", "run nightly refused"}
		var got []string
		for len(got) < len(want) {
			for _, each := range next(t, listening) {
				got = append(got, fmt.Sprintf("%s %s %s", each.Kind, each.Subject, each.What))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// either subscribes at one of the processes, whichever it happens to reach.
type either struct {
	of     [2]process
	random *rand.Rand
}

func (e either) Subscribe(after *feed.Position) (*feed.Subscription, error) {
	return e.of[e.random.IntN(2)].Subscribe(after)
}

// TestDatabases_tellEveryListenerOfEverythingOnceWhicheverProcessItResumesAt has
// both processes write at once.
func TestDatabases_tellEveryListenerOfEverythingOnceWhicheverProcessItResumesAt(t *testing.T) {
	t.Parallel()
	const listeners, writers, each = 25, 4, 50
	onEach(t, func(t *testing.T, both [2]process) {
		all := make([]restless, listeners)
		var group sync.WaitGroup
		for i := range all {
			all[i] = restless{random: rand.New(rand.NewPCG(9, uint64(i))), leaves: 0.4, away: time.Duration(1+i) * time.Millisecond}
			group.Go(func() {
				to := either{both, rand.New(rand.NewPCG(10, uint64(i)))}
				if err := all[i].listen(t.Context(), to, feed.Position{}, writers*each); err != nil {
					t.Errorf("listener %d: %v", i, err)
				}
			})
		}
		for i := range writers {
			group.Go(func() {
				for range each {
					both[i%2].create(t)
				}
			})
		}
		group.Wait()
		happened, err := both[0].database.Events(t.Context(), feed.Position{}, feed.MaxEvents)
		if err != nil || len(happened) != writers*each {
			t.Fatalf("%d events are kept, %v", len(happened), err)
		}
		for i := range all {
			if diff := all[i].differs(happened); diff != "" {
				t.Errorf("listener %d: %s", i, diff)
			}
		}
	})
}
