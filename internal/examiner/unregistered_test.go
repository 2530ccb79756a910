package examiner_test

import (
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// TestDatabases_tellThePreflightsOfARunThatIsNoLongerRegistered reads them also with a
// cursor behind the last one.
func TestDatabases_tellThePreflightsOfARunThatIsNoLongerRegistered(t *testing.T) {
	t.Parallel()
	onEach(t, registry.Slot{}, func(t *testing.T, n onDatabase) {
		n.preflight(t, "nightly")
		n.preflight(t, "both")
		without := *n.registered
		without.Runs = without.Runs[1:]
		if err := n.Use(t.Context(), &without); err != nil {
			t.Fatal(err)
		}
		view, err := n.RunView(t.Context(), "nightly")
		if err != nil || !view.Unregistered || view.Slots == nil || len(view.Slots) != 0 || len(view.Preflights) != 1 {
			t.Errorf("got %+v, %v", view, err)
		}
		if page, err := n.Preflights(t.Context(), "nightly", registry.PageQuery{}); err != nil || len(page.Preflights) != 1 {
			t.Errorf("got %+v, %v", page, err)
		}
		if view, err := n.RunView(t.Context(), "both"); err != nil || view.Unregistered || len(view.Slots) != 2 {
			t.Errorf("one that is registered: %+v, %v", view, err)
		}
		_, err = n.Preflight(t.Context(), "nightly")
		wantFault(t, err, fault.NotFound)
		for _, name := range []string{"never", "A b"} {
			_, err = n.RunView(t.Context(), name)
			wantFault(t, err, fault.NotFound)
			_, err = n.Preflights(t.Context(), name, registry.PageQuery{})
			wantFault(t, err, fault.NotFound)
		}
	})
}
