package examiner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// recorded is what a database has of some components.
type recorded struct {
	Known   []registry.Known
	Changes []registry.Change
}

func (n onDatabase) recorded(t *testing.T, names ...string) (got recorded) {
	t.Helper()
	var err error
	if got.Known, err = n.database.Known(t.Context(), names); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		changes, err := n.database.Changes(t.Context(), name, 100)
		if err != nil {
			t.Fatal(err)
		}
		got.Changes = append(got.Changes, changes...)
	}
	return got
}

// TestDatabases_areLeftByALookAsTheyAre looks at what one file has recorded with a file
// that defines asm otherwise, and has a component more.
func TestDatabases_areLeftByALookAsTheyAre(t *testing.T) {
	t.Parallel()
	onEach(t, registry.Slot{}, func(t *testing.T, n onDatabase) {
		n.preflight(t, "both")
		n.primary.serves("other", "scan")
		n.preflight(t, "both")
		n.clock.pass(time.Minute)
		names := []string{"asm", "asm-eu", "fresh", "writer"}
		before := n.recorded(t, names...)
		elsewhere := *n.registered
		elsewhere.Components = append([]registry.Component{n.fallback.component("asm"), n.fallback.component("fresh")}, n.registered.Components[1:]...)
		looking := examiner.New(examiner.Options{Store: n.database, Now: n.clock.now, Version: "test"})
		if err := looking.Look(&elsewhere); err != nil {
			t.Fatal(err)
		}
		page, err := looking.Components(t.Context(), registry.ComponentQuery{})
		if err != nil || len(page.Components) != 4 {
			t.Fatalf("got %+v, %v", page, err)
		}
		for name, want := range map[string]string{"asm": "another definition", "fresh": "knows nothing", "writer": ""} {
			view, err := looking.Component(t.Context(), name)
			if isForeign := want != ""; err != nil || (view.Status == registry.Available) == isForeign || isForeign == (view.Result != nil) || !strings.Contains(view.Reason, want) {
				t.Errorf("%s: got %+v, %v", name, view.Reading, err)
			}
			if view.Drift != nil {
				t.Errorf("%s: what changed in the tools of another definition is told: %+v", name, view.Drift)
			}
		}
		if view, err := looking.RunView(t.Context(), "both"); err != nil || len(view.Preflights) != 2 || view.Slots[0].Fills != "asm-eu" {
			t.Errorf("got %+v, %v", view, err)
		}
		_, err = looking.Accept(t.Context(), "asm")
		wantFault(t, err, fault.WrongState)
		if diff := cmp.Diff(before, n.recorded(t, names...)); diff != "" {
			t.Errorf("what was recorded has changed (-before +after):\n%s", diff)
		}
	})
}
