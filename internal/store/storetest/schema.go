package storetest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// newerSchema raises the schema's version past what this program knows.
func newerSchema(t *testing.T, location string) {
	first, err := store.Open(t.Context(), location, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	brought(t, first, task.Claimed)
	kind := first.Kind()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	raise := "PRAGMA user_version = 1000"
	if kind == postgres {
		raise = "INSERT INTO countersign_migrations VALUES (1000, 'later')"
	}
	foreign := raw(t, location, false)
	if _, err := foreign.ExecContext(t.Context(), raise); err != nil {
		t.Fatal(err)
	}
	before := dump(t, foreign)
	opened, err := store.Open(t.Context(), location, store.Options{})
	if err == nil {
		opened.Close()
	}
	if coded, ok := fault.Of(err); !ok || coded.Code != fault.Unavailable || coded.Hint == "" {
		t.Errorf("got %v, want E_UNAVAILABLE with a hint", err)
	}
	if errors.Is(err, fault.Internal) {
		t.Errorf("got an internal fault: %v", err)
	}
	if diff := cmp.Diff(before, dump(t, foreign)); diff != "" {
		t.Errorf("the newer database was touched (-before +after):\n%s", diff)
	}
}
