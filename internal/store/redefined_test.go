package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
)

// TestRedefined_isToldOncePerChangeByAnother has another process register a component
// as something else between results of this one.
func TestRedefined_isToldOncePerChangeByAnother(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) {
		var told []string
		location := fresh(t)
		db := open(t, location, store.Options{Redefined: func(component string) { told = append(told, component) }})
		other := open(t, location, store.Options{})
		at := time.Now().Add(-time.Hour)
		record := func() {
			t.Helper()
			at = at.Add(2 * time.Second)
			if err := db.Record(t.Context(), nil, []registry.Record{passOf(t, 0, at), passOf(t, 0, at.Add(time.Second))}); err != nil {
				t.Fatal(err)
			}
		}
		register := func(definition string) {
			t.Helper()
			as := passOf(t, 0, at).Registration
			as.Definition = definition
			if err := other.Register(t.Context(), at.Add(time.Millisecond), []registry.Registration{as}); err != nil {
				t.Fatal(err)
			}
		}
		for step, want := range []int{0, 0, 1, 1, 2} {
			if step == 2 || step == 4 {
				register("another")
			}
			record()
			if len(told) != want {
				t.Errorf("step %d: told of %v, want %d", step, told, want)
			}
		}
		register(passOf(t, 0, at).Registration.Definition)
		record()
		if !slices.Equal(told, []string{"component-00000", "component-00000"}) {
			t.Errorf("told of %v", told)
		}
	})
}

// TestRedefined_isNotToldOfAResultThatCameTooLate records a result of what a component
// was before.
func TestRedefined_isNotToldOfAResultThatCameTooLate(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) {
		db := open(t, fresh(t), store.Options{Redefined: func(component string) { t.Errorf("told of %s", component) }})
		at := time.Now().Add(-time.Hour)
		as := passOf(t, 0, at).Registration
		for i, definition := range []string{as.Definition, "another"} {
			as.Definition = definition
			if err := db.Register(t.Context(), at.Add(time.Duration(i)*time.Minute), []registry.Registration{as}); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Record(t.Context(), nil, []registry.Record{passOf(t, 0, at.Add(time.Second))}); err != nil {
			t.Fatal(err)
		}
	})
}
