package patrol_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

const (
	// patience bounds the wait for what must happen on a real clock.
	patience = time.Minute
	// realLimit bounds the results that a test reads.
	realLimit = 100
)

// TestStore_twoPatrolsOnOneDatabase has the holder of the lease hang, as a process
// that is stopped, until another has taken over; then it goes on.
func TestStore_twoPatrolsOnOneDatabase(t *testing.T) {
	t.Parallel()
	for name, location := range map[string]func(testing.TB) string{"SQLite": storetest.SQLite, "PostgreSQL": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := location(t)
			components := servers(12, 2*time.Second)
			one, other := onDatabase(t, at, components), onDatabase(t, at, components)
			until(t, "one of them patrols and every component has three results", func() bool {
				return least(t, one, components) >= 3
			})
			holder, second := one, other
			if other.observer.told().holding {
				holder, second = other, one
			}
			if !holder.observer.told().holding || second.observer.told().holding {
				t.Fatal("not exactly one of them patrols")
			}
			release := holder.line.hold()
			until(t, "the other takes over", func() bool { return second.observer.told().holding })
			release()
			until(t, "a late write is refused, and its process stands by", func() bool {
				return holder.line.refusals() > 0 && !holder.observer.told().holding
			})
			before := least(t, second, components)
			until(t, "the other stores results", func() bool { return least(t, second, components) > before+1 })
			apart(t, second, components)
			second.stop()
			until(t, "the lease that was given back is taken", func() bool { return holder.observer.told().holding })
			if err := holder.Health(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// onDatabase starts a patrol on a database of its own process, as far as one
// process can have two.
func onDatabase(t *testing.T, location string, components []registry.Component) *scene {
	t.Helper()
	opened, err := store.Open(t.Context(), location, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	x := newExaminer(t, components...)
	x.answers(func(ctx context.Context, _ *registry.Component) (registry.Summary, error) {
		result := passedResult()
		return result.Summary(), wait(ctx, 10*time.Millisecond)
	})
	return patrols(t, opened, &documented{examiner: x}, patrol.Limits{Concurrency: 8, PerHost: 2})
}

// documented makes whole records of the results of an examiner.
type documented struct {
	*examiner

	document json.RawMessage // of every result; nil for its own
}

func (d *documented) Examine(ctx context.Context, name string) (registry.Record, error) {
	record, err := d.examiner.Examine(ctx, name)
	if err != nil {
		return record, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return record, err
	}
	record.ID, record.Summary.ProbedAt = id.String(), record.Summary.ProbedAt.UTC().Truncate(time.Millisecond)
	if record.Document = d.document; d.document != nil {
		return record, nil
	}
	result := passedResult()
	result.ProbedAt = record.Summary.ProbedAt
	record.Document, err = json.Marshal(result)
	return record, err
}

func passedResult() registry.ProbeResult {
	held := registry.Pass(time.Millisecond, "")
	return registry.ProbeResult{
		Profile: registry.ThreeGates, Healthz: held, Test: held, Tools: []string{"any"},
		ListTools: registry.ToolsResult{GateResult: held, ToolCount: 1},
	}
}

// until waits for what must happen in the end.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(patience); !happened(); <-ticker.C {
		if time.Now().After(end) {
			t.Fatalf("after %v it is not so that %s", patience, what)
		}
	}
}

// least is how many results the component has that has fewest.
func least(t *testing.T, s *scene, components []registry.Component) int {
	t.Helper()
	fewest := realLimit
	for _, component := range components {
		fewest = min(fewest, len(kept(t, s, component.Name)))
	}
	return fewest
}

// kept returns the results of a component, the newest first.
func kept(t *testing.T, s *scene, name string) []registry.Kept {
	t.Helper()
	results, err := s.line.to.(*store.Database).Results(t.Context(), name, "", realLimit)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// apart wants no two results of a component within half an interval.
func apart(t *testing.T, s *scene, components []registry.Component) {
	t.Helper()
	for _, component := range components {
		results := kept(t, s, component.Name)
		slices.Reverse(results)
		for i := 1; i < len(results); i++ {
			// Times are kept to the millisecond.
			if between := results[i].Seen.ProbedAt.Sub(results[i-1].Seen.ProbedAt); between < component.Interval/2-time.Millisecond {
				t.Errorf("%s was probed twice within %v", component.Name, between)
			}
		}
	}
}
