package examiner_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/registry"
)

func TestReadings_areThoseOfTheListInOneQuestionToTheStore(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	n.fallback.dead.Store(true)
	n.preflight(t, "nightly")
	n.store.asked = nil
	readings, err := examiner.NewGlance(n.Examiner).Readings(t.Context())
	if err != nil || len(n.store.asked) != 1 {
		t.Fatalf("%v, and the store was asked %d times", err, len(n.store.asked))
	}
	page, err := n.Components(t.Context(), registry.ComponentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page.Components, readings); diff != "" || len(readings) != 3 {
		t.Errorf("(-list +readings):\n%s", diff)
	}
}
