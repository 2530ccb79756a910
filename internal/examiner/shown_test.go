package examiner_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/cursor"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

func TestResults_arePagedNewestFirstWithoutDocuments(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	var want []string
	for i := range 5 {
		n.clock.pass(time.Second)
		n.primary.dead.Store(i%2 > 0)
		probed, err := n.Probe(t.Context(), "asm")
		if err != nil {
			t.Fatal(err)
		}
		want = append([]string{*probed.ResultID}, want...)
	}
	if _, err := n.Probe(t.Context(), "writer"); err != nil {
		t.Fatal(err)
	}
	for limit, pages := range map[int]int{0: 1, 1: 5, 2: 3, 5: 1, 100: 1} {
		var got []string
		made := 0
		for query := (registry.ResultQuery{Limit: limit}); made == 0 || query.Cursor != ""; made++ {
			page, err := n.Results(t.Context(), "asm", query)
			if err != nil || made == 10 {
				t.Fatalf("page %d: %v", made, err)
			}
			for _, each := range page.Results {
				got = append(got, each.ResultID)
				if each.Component != "asm" || each.Result != nil || each.ProbedAt == "" {
					t.Errorf("listed %+v", each)
				}
			}
			query.Cursor = page.NextCursor
		}
		if diff := cmp.Diff(want, got); diff != "" || made != pages {
			t.Errorf("%d pages of %d, want %d (-want +got):\n%s", made, limit, pages, diff)
		}
	}
	whole, err := n.Result(t.Context(), want[1])
	if err != nil || whole.Outcome != registry.OutcomeFailed || !slices.Equal(whole.Causes, []registry.Cause{registry.HTTPStatus}) || len(whole.Result) == 0 {
		t.Errorf("got %+v, %v", whole, err)
	}
	recent, err := n.Recent(t.Context(), []string{"asm", "asm-eu"})
	if err != nil || len(recent["asm"]) != 5 || recent["asm"][3].Outcome != registry.OutcomeFailed || len(recent["asm-eu"]) != 0 {
		t.Errorf("got %+v, %v", recent, err)
	}
	page, err := n.Results(t.Context(), "asm-eu", registry.ResultQuery{})
	if err != nil || page.Results == nil || len(page.Results) != 0 {
		t.Errorf("of a component without results: %+v, %v", page, err)
	}
}

func TestShown_refusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	errOf := func(_ any, err error) error { return err }
	ctx := t.Context()
	for code, errs := range map[fault.Code][]error{
		fault.NotFound: {
			errOf(n.Results(ctx, "asmm", registry.ResultQuery{})),
			errOf(n.RunView(ctx, "nightlyy")),
			errOf(n.Preflights(ctx, "weekly", registry.PageQuery{})),
		},
		fault.InvalidArgument: {
			errOf(n.Results(ctx, "asm", registry.ResultQuery{Limit: -1})),
			errOf(n.Results(ctx, "asm", registry.ResultQuery{Limit: registry.MaxPage + 1})),
			errOf(n.Results(ctx, "asm", registry.ResultQuery{Cursor: "' OR 1=1"})),
			errOf(n.Recent(ctx, make([]string, registry.MaxPage+1))),
			errOf(n.RunPage(ctx, registry.PageQuery{Limit: registry.MaxPage + 1})),
			errOf(n.RunPage(ctx, registry.PageQuery{Cursor: "No Name"})),
			errOf(n.SlotPage(ctx, registry.PageQuery{Limit: -1})),
			errOf(n.SlotPage(ctx, registry.PageQuery{Cursor: "No Name"})),
			errOf(n.Preflights(ctx, "nightly", registry.PageQuery{Limit: -1})),
			errOf(n.Preflights(ctx, "nightly", registry.PageQuery{Cursor: "nightly"})),
		},
	} {
		for _, err := range errs {
			wantFault(t, err, code)
		}
	}
	n.store.breakDown(errBroken)
	for _, err := range []error{
		errOf(n.Results(ctx, "asm", registry.ResultQuery{})),
		errOf(n.Recent(ctx, []string{"asm"})),
		errOf(n.RunPage(ctx, registry.PageQuery{})),
		errOf(n.SlotPage(ctx, registry.PageQuery{})),
		errOf(n.RunView(ctx, "nightly")),
		errOf(n.Preflights(ctx, "nightly", registry.PageQuery{})),
	} {
		wantFault(t, err, fault.Unavailable)
	}
}

func TestRunPage_tellsTheNewestPreflightOfEachInOneQuestion(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	n.preflight(t, "nightly")
	n.primary.dead.Store(true)
	n.preflight(t, "nightly")
	at := n.clock.now().UTC()
	n.store.listed = 0
	first, err := n.RunPage(t.Context(), registry.PageQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	second, err := n.RunPage(t.Context(), registry.PageQuery{Limit: 1, Cursor: first.NextCursor})
	if err != nil || n.store.listed != 2 {
		t.Fatalf("%v, and the store was asked %d times", err, n.store.listed)
	}
	want := []registry.RunPage{
		{Runs: []registry.RunSummary{{Run: "both", Slots: []string{"recon", "author"}}}, NextCursor: cursor.Runs.After("", []byte("both"))},
		{Runs: []registry.RunSummary{{Run: "nightly", Slots: []string{"recon"}, Last: &registry.PreflightSummary{
			At: at, Allowed: true, Fallbacks: []string{"recon"}, Unfilled: []string{},
		}}}},
	}
	if diff := cmp.Diff(want, []registry.RunPage{first, second}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if last, err := n.RunPage(t.Context(), registry.PageQuery{Cursor: cursor.Runs.After("", []byte("nightly"))}); err != nil || len(last.Runs) != 0 || last.Runs == nil || n.store.listed != 2 {
		t.Errorf("behind the last: %+v, %v", last, err)
	}
}

func TestRunView_tellsTheReadingsOfItsSlotsAndItsNewestPreflights(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{RequireTools: []string{"scan"}}, plain)
	for range registry.ShownPreflights + 1 {
		n.preflight(t, "both")
	}
	n.preflight(t, "nightly")
	n.fallback.dead.Store(true)
	n.preflight(t, "both")
	n.store.asked = nil
	view, err := n.RunView(t.Context(), "both")
	if err != nil || len(n.store.asked) != 1 {
		t.Fatalf("%v, and the store was asked of components %d times", err, len(n.store.asked))
	}
	var told []string
	for _, slot := range view.Slots {
		for _, each := range slot.Components {
			told = append(told, fmt.Sprintf("%s %v %s %s", slot.Slot, slot.Required, each.Name, each.Status))
		}
	}
	want := []string{"recon true asm available", "recon true asm-eu unavailable", "author false writer unavailable"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if view.Slots[0].Fills != "asm" || view.Slots[1].Fills != "" {
		t.Errorf("the slots are filled by %q and %q", view.Slots[0].Fills, view.Slots[1].Fills)
	}
	if len(view.Preflights) != registry.ShownPreflights || short(view.Preflights[0].Preflight) != "allowed recon=asm (asm-eu: status) author=nothing (writer: status)" ||
		view.Preflights[0].Preflight.Ticket == nil {
		t.Errorf("%d preflights, the first is %s", len(view.Preflights), short(view.Preflights[0].Preflight))
	}
}

func TestPreflights_goOnByCursor(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	var made []time.Time
	for range 5 {
		n.preflight(t, "both")
		made = append([]time.Time{n.clock.now().UTC()}, made...)
	}
	var told []time.Time
	query := registry.PageQuery{Limit: 2}
	for pages := 1; ; pages++ {
		page, err := n.Preflights(t.Context(), "both", query)
		if err != nil || len(page.Preflights) == 0 {
			t.Fatalf("page %d holds %d preflights, %v", pages, len(page.Preflights), err)
		}
		for _, each := range page.Preflights {
			told = append(told, each.At)
		}
		if query.Cursor = page.NextCursor; query.Cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(made, told); diff != "" {
		t.Errorf("preflights over all pages (-made +told):\n%s", diff)
	}
	if page, err := n.Preflights(t.Context(), "nightly", registry.PageQuery{}); err != nil || page.Preflights == nil || len(page.Preflights) > 0 {
		t.Errorf("of a run without any: %+v, %v", page, err)
	}
}

func afterSlot(name string) string { return cursor.Slots.After("", []byte(name)) }

func TestSlotPage_tellsTheReadingsOfItsSlotsInOneQuestion(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{MaxAge: time.Minute, MinVersion: "1.0"}, plain)
	n.preflight(t, "both")
	n.store.asked = nil
	told := func(query registry.PageQuery) (slots []string, next string) {
		page, err := n.SlotPage(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, slot := range page.Slots {
			line := fmt.Sprintf("%s %d %s", slot.Slot, slot.MaxAgeMs, slot.MinVersion)
			for _, each := range slot.Components {
				line += " " + each.Name + "=" + string(each.Status)
			}
			line += " filled by " + slot.Fills
			slots = append(slots, line)
		}
		return slots, page.NextCursor
	}
	for _, row := range []struct {
		query registry.PageQuery
		want  []string
		next  string
	}{
		{registry.PageQuery{}, []string{"author 0  writer=available filled by writer", "recon 60000 1.0 asm=available asm-eu=available filled by asm"}, ""},
		{registry.PageQuery{Limit: 1}, []string{"author 0  writer=available filled by writer"}, afterSlot("author")},
		{registry.PageQuery{Limit: 1, Cursor: afterSlot("author")}, []string{"recon 60000 1.0 asm=available asm-eu=available filled by asm"}, ""},
		{registry.PageQuery{Cursor: afterSlot("recon")}, nil, ""},
	} {
		n.store.asked = nil
		got, next := told(row.query)
		if diff := cmp.Diff(row.want, got); diff != "" || next != row.next || len(n.store.asked) > 1 {
			t.Errorf("%+v: next %q, %d questions (-want +got):\n%s", row.query, next, len(n.store.asked), diff)
		}
	}
}

func TestDatabases_tellWhatPagesShow(t *testing.T) {
	t.Parallel()
	onEach(t, registry.Slot{}, func(t *testing.T, n onDatabase) {
		n.preflight(t, "both")
		n.primary.dead.Store(true)
		n.preflight(t, "nightly")
		results, err := n.Results(t.Context(), "asm", registry.ResultQuery{Limit: 1})
		if err != nil || len(results.Results) != 1 || results.Results[0].Outcome != registry.OutcomeFailed || results.NextCursor == "" {
			t.Fatalf("got %+v, %v", results, err)
		}
		results, err = n.Results(t.Context(), "asm", registry.ResultQuery{Limit: 1, Cursor: results.NextCursor})
		if err != nil || len(results.Results) != 1 || results.Results[0].Outcome != registry.OutcomePassed || results.NextCursor != "" {
			t.Errorf("got %+v, %v", results, err)
		}
		_, err = n.Result(t.Context(), "no result")
		wantFault(t, err, fault.NotFound)
		recent, err := n.Recent(t.Context(), []string{"writer", "asm"})
		if err != nil || len(recent["asm"]) != 2 || recent["asm"][1].Outcome != registry.OutcomeFailed || len(recent["writer"]) != 1 {
			t.Errorf("got %+v, %v", recent, err)
		}
		runs, err := n.RunPage(t.Context(), registry.PageQuery{})
		if err != nil || len(runs.Runs) != 2 || !slices.Equal(runs.Runs[1].Last.Fallbacks, []string{"recon"}) || len(runs.Runs[0].Last.Fallbacks) != 0 {
			t.Errorf("got %+v, %v", runs, err)
		}
		view, err := n.RunView(t.Context(), "nightly")
		if err != nil || len(view.Preflights) != 1 || view.Slots[0].Components[0].Status != registry.Unavailable {
			t.Errorf("got %+v, %v", view, err)
		}
	})
}
