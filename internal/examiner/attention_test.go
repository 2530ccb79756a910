package examiner_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/cursor"
	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// The overview shows the first of what needs attention, and counts all of it; page by
// page all of it can be found, in that order.
func TestComponents_leadThroughAllThatNeedAttention(t *testing.T) {
	t.Parallel()
	const size = 60
	b := start(t, fleet(size))
	for i := range size {
		switch i % 3 {
		case 0:
			b.finds(t, fleetName(i), registry.OutcomePassed)
		case 1:
			b.finds(t, fleetName(i), registry.OutcomeFailed)
		}
	}
	seen := examiner.NewGlance(b.Examiner)
	counts, want := attention(t, seen, size)
	if counts.Attention == 0 || counts.Attention == size {
		t.Fatalf("%d of %d need attention", counts.Attention, size)
	}
	var got []string
	pages := 0
	for query := (registry.ComponentQuery{Attention: true, Limit: 7}); pages == 0 || query.Cursor != ""; pages++ {
		page, err := seen.Components(t.Context(), query)
		if err != nil || pages > size {
			t.Fatalf("page %d: %v", pages, err)
		}
		for _, reading := range page.Components {
			got = append(got, reading.Name+" "+string(reading.Status))
		}
		query.Cursor = page.NextCursor
	}
	if !slices.Equal(got, want[:counts.Attention]) {
		t.Errorf("page by page it is %v, want %v", got, want[:counts.Attention])
	}
}

func TestComponents_refuseACursorOfAnotherOrder(t *testing.T) {
	t.Parallel()
	b := start(t, fleet(3))
	b.store.breakDown(errors.New("down")) // what is wrong is told all the same
	seen := examiner.NewGlance(b.Examiner)
	raw := func(place string) string { return cursor.ComponentsByUrgency.After("", []byte(place)) }
	for _, given := range []string{
		fleetName(1), "0/0/" + fleetName(1), cursor.Components.After("", []byte(fleetName(1))), raw(""), raw("0/0/"), raw("0/0/A b"), raw("0/" + fleetName(1)),
		raw("9/0/" + fleetName(1)), raw("5/0/" + fleetName(1)), raw("-1/0/" + fleetName(1)), raw("00/0/" + fleetName(1)), raw("0/0/"+fleetName(1)) + "\n",
		raw("0/4/" + fleetName(1)), raw("0/-1/" + fleetName(1)), raw("0/00/" + fleetName(1)),
	} {
		if _, err := seen.Components(t.Context(), registry.ComponentQuery{Attention: true, Cursor: given}); !errors.Is(err, fault.InvalidArgument) {
			t.Errorf("the cursor %q is taken: %v", given, err)
		}
	}
	if _, err := seen.Components(t.Context(), registry.ComponentQuery{Status: registry.Unknown, Cursor: raw("0/0/" + fleetName(1))}); !errors.Is(err, fault.InvalidArgument) {
		t.Errorf("a list of a status takes the cursor of another: %v", err)
	}
}

// Who looks at a page of a hundred that are down mends first what makes a run refuse.
func TestAttention_putsFirstWhatRunsNeed(t *testing.T) {
	t.Parallel()
	set := fleet(6)
	set.Slots = []registry.Slot{
		{Name: "search", Primary: fleetName(4)}, {Name: "scan", Primary: fleetName(3), Fallbacks: []string{fleetName(5)}}, {Name: "spare", Primary: fleetName(2)},
	}
	set.Runs = []registry.Run{{Name: "nightly", Slots: []registry.RunSlot{{Slot: "search", Required: true}, {Slot: "scan", Required: true}}}}
	b := start(t, set)
	for i := range 5 {
		b.finds(t, fleetName(i), registry.OutcomeFailed)
	}
	b.finds(t, fleetName(5), registry.OutcomePassed)
	seen := examiner.NewGlance(b.Examiner)
	told, err := seen.Attention(t.Context(), 6)
	if err != nil {
		t.Fatal(err)
	}
	page, err := seen.Components(t.Context(), registry.ComponentQuery{Attention: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{4, 3, 2, 0, 1} {
		if told.Components[i].Name != fleetName(want) || page.Components[i].Name != fleetName(want) {
			t.Errorf("at place %d are %s and %s, want %s", i, told.Components[i].Name, page.Components[i].Name, fleetName(want))
		}
	}
	if got, want := told.Wants[fleetName(4)], (registry.Wanted{Need: registry.NeedRefuses, Run: "nightly"}); got != want {
		t.Errorf("of the first it wants %+v, want %+v", got, want)
	}
	b.clock.pass(time.Second)
	b.finds(t, fleetName(5), registry.OutcomeFailed)
	if err := seen.Refresh(t.Context(), []string{fleetName(5)}); err != nil {
		t.Fatal(err)
	}
	if told, err = seen.Attention(t.Context(), 6); err != nil || told.Components[0].Name != fleetName(3) || told.Wants[fleetName(5)].Need != registry.NeedRefuses {
		t.Errorf("without its fallback: %+v, %v", told, err)
	}
}
