package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// lease walks the lease from holder to holder, with two of the program's own
// connections to one database.
func lease(t *testing.T, location string) {
	one, two := open(t, location), open(t, location)
	free := mustLease(t, one)
	if free.Holder != "" {
		t.Fatalf("a new lease is %+v", free)
	}
	first := mustTake(t, one, free, "one")
	if first.Fence <= free.Fence {
		t.Errorf("the fence went from %d to %d", free.Fence, first.Fence)
	}
	if got, taken, err := two.TakeLease(t.Context(), free, "two"); err != nil || taken || got != first {
		t.Errorf("taking what was taken: got %+v, %v, %v", got, taken, err)
	}
	if err := one.Beat(t.Context(), first.Fence); err != nil {
		t.Error(err)
	}
	beaten := mustLease(t, two)
	if beaten.Beat <= first.Beat || beaten.Fence != first.Fence {
		t.Errorf("after a beat the lease is %+v, before it was %+v", beaten, first)
	}
	if _, taken, err := two.TakeLease(t.Context(), first, "two"); err != nil || taken {
		t.Errorf("taking a lease that has beaten since: %v, %v", taken, err)
	}
	second := mustTake(t, two, beaten, "two")
	lateWrites(t, one, first.Fence)
	mustFenced(t, two, second.Fence, recordOf("asm", found(day(), "", tools("first"))))
	if err := one.ReleaseLease(t.Context(), first.Fence); err != nil {
		t.Error(err)
	}
	if got := mustLease(t, one); got.Holder != "two" {
		t.Errorf("released by one who had lost it: %+v", got)
	}
	if err := two.ReleaseLease(t.Context(), second.Fence); err != nil {
		t.Error(err)
	}
	lateWrites(t, two, second.Fence)
	if released := mustLease(t, one); released.Holder != "" {
		t.Errorf("a released lease is %+v", released)
	} else {
		mustTake(t, one, released, "one again")
	}
	if _, _, err := one.TakeLease(t.Context(), free, ""); err == nil {
		t.Error("a lease was taken by nobody")
	}
}

// lateWrites makes every write with a fence that no longer holds.
func lateWrites(t *testing.T, db *store.Database, fence int64) {
	t.Helper()
	late := recordOf("asm", found(day().Add(time.Minute), "", tools("late")))
	before := mustLease(t, db)
	if err := db.Record(t.Context(), &fence, []registry.Record{late}); !errors.Is(err, registry.ErrLeaseLost) {
		t.Errorf("a late result: got %v", err)
	}
	if err := db.Beat(t.Context(), fence); !errors.Is(err, registry.ErrLeaseLost) {
		t.Errorf("a late beat: got %v", err)
	}
	if isKept(t, db, late.ID) {
		t.Error("a late result was stored")
	}
	if diff := cmp.Diff(before, mustLease(t, db)); diff != "" {
		t.Errorf("late writes changed the lease:\n%s", diff)
	}
}

func mustLease(t testing.TB, db *store.Database) registry.Lease {
	t.Helper()
	lease, err := db.Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func mustTake(t testing.TB, db *store.Database, seen registry.Lease, holder string) registry.Lease {
	t.Helper()
	lease, taken, err := db.TakeLease(t.Context(), seen, holder)
	if err != nil || !taken || lease.Holder != holder || lease != mustLease(t, db) {
		t.Fatalf("take %+v: got %+v, %v, %v", seen, lease, taken, err)
	}
	return lease
}

func mustFenced(t testing.TB, db *store.Database, fence int64, records ...registry.Record) {
	t.Helper()
	before := mustLease(t, db)
	if err := db.Record(t.Context(), &fence, records); err != nil {
		t.Fatalf("record under the fence %d: %v", fence, err)
	}
	if got := mustLease(t, db); got.Beat <= before.Beat {
		t.Errorf("a fenced write did not beat: %+v, then %+v", before, got)
	}
}
