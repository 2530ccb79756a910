package examiner_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/cursor"
	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// TestGlance_listsWhatTheExaminerLists holds pages, readings and attention of a
// fleet against those without a glance.
func TestGlance_listsWhatTheExaminerLists(t *testing.T) {
	t.Parallel()
	set := fleet(300)
	for i := range 60 {
		slot := registry.Slot{Name: fmt.Sprintf("s%d", i), Primary: fleetName(3 * i), Fallbacks: []string{fleetName(3*i + 4)}}
		set.Slots = append(set.Slots, slot)
		set.Runs = append(set.Runs, registry.Run{Name: fmt.Sprintf("r%d", i), Slots: []registry.RunSlot{{Slot: slot.Name, Required: i%2 == 0}}})
	}
	b := start(t, set)
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
			query.Cursor = afterComponent(fleetName(random.IntN(300)))
		}
		list := b.Components
		if random.IntN(3) == 0 {
			query.Attention, list = true, b.Needing
			if query.Cursor != "" {
				query.Cursor = cursor.ComponentsByUrgency.After("", fmt.Appendf(nil, "%d/%d/%s", random.IntN(int(registry.NotUrgent)), random.IntN(len(registry.Needs())), fleetName(random.IntN(300))))
			}
		}
		want, err := list(t.Context(), query)
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
			"of a status":             {registry.ComponentQuery{Status: registry.Unavailable, Limit: 10}, 11},
			"the rest":                {registry.ComponentQuery{Status: registry.Unavailable, Limit: 10, Cursor: afterComponent(fleetName(size/2 + 9))}, 10},
			"of no status":            {registry.ComponentQuery{Status: registry.Unknown}, 0},
			"of a search":             {registry.ComponentQuery{Search: fleetName(size / 2)[:5], Limit: 5, Status: registry.Unavailable}, 6},
			"of a name":               {registry.ComponentQuery{Search: fleetName(size - 1)}, 1},
			"of all":                  {registry.ComponentQuery{Limit: 10}, 11},
			"of what needs attention": {registry.ComponentQuery{Attention: true, Limit: 10}, 0},
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

func TestAttention_refusesALimitThatIsNone(t *testing.T) {
	t.Parallel()
	b := start(t, fleet(1))
	seen := examiner.NewGlance(b.Examiner)
	for _, limit := range []int{-1, registry.MaxPage + 1} {
		_, err := seen.Attention(t.Context(), limit)
		wantFault(t, err, fault.InvalidArgument)
	}
	_, err := seen.Components(t.Context(), registry.ComponentQuery{Status: "green"})
	wantFault(t, err, fault.InvalidArgument)
	b.store.breakDown(errBroken)
	_, err = seen.Attention(t.Context(), 1)
	wantFault(t, err, fault.Unavailable)
}
