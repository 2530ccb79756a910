package storetest

import (
	"database/sql"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// RecordAtOnce lets so many processes record results of the same components at
// once, so many batches each, and trim. Without a bound of bytes nothing is
// trimmed, and every result is there and counted once.
func RecordAtOnce(t *testing.T, fresh Fresh, processes, batches int, maxBytes int64) {
	t.Helper()
	location := fresh(t)
	workers := startWorkers(t, jobs(processes, job{Location: location, Do: doRecord, Steps: batches, MaxBytes: maxBytes}))
	begin(t, workers)
	told := collect(t, workers, false)
	recorded, trimmed := 0, 0
	for _, next := range told {
		if next.Error != "" {
			t.Errorf("%s by %s: %s", next.Op, next.Agent, next.Error)
		}
		switch next.Op {
		case opRecorded:
			recorded += len(next.IDs)
		case opTrimmed:
			trimmed += next.Count
		}
	}
	foreign := raw(t, location, false)
	balanced(t, foreign)
	newestCounts(t, foreign)
	if maxBytes == registry.DefaultMaxBytes {
		addedUp(t, foreign)
		batchesWhole(t, foreign, told)
	} else if trimmed == 0 {
		t.Error("nothing was trimmed")
	}
	if recorded < processes*batches {
		t.Errorf("%d results were recorded in %d batches", recorded, processes*batches)
	}
}

// wholeRecords examines a database after a crash of those who recorded.
func wholeRecords(t *testing.T, location string, told []event) {
	t.Helper()
	db, err := store.Open(t.Context(), location, store.Options{WriteWait: openWait, ReadWait: openWait})
	if err != nil {
		t.Fatalf("open after the crash: %v", err)
	}
	defer db.Close()
	foreign := raw(t, location, false)
	defer foreign.Close()
	if db.Kind() == sqlite {
		if found := dumpQuery(t, foreign, "PRAGMA integrity_check"); !cmp.Equal(found, []string{"ok"}) {
			t.Errorf("integrity check: %v", found)
		}
	}
	balanced(t, foreign)
	newestCounts(t, foreign)
	addedUp(t, foreign)
	batchesWhole(t, foreign, told)
}

// newestCounts checks by SQL that each component's newest result is the newest
// one that was stored of it: no writer has overwritten what another has folded.
func newestCounts(t testing.TB, foreign *sql.DB) {
	t.Helper()
	nothing(t, foreign, `SELECT name, result_id FROM components WHERE EXISTS (SELECT 1 FROM results
	WHERE component = name AND (probed_at > components.probed_at OR (probed_at = components.probed_at AND id > result_id)))`)
}

// batchesWhole checks that of each batch all results are there or none, and all
// when it was acknowledged.
func batchesWhole(t testing.TB, foreign *sql.DB, told []event) {
	t.Helper()
	stored := map[string]bool{}
	for _, id := range dumpQuery(t, foreign, "SELECT id FROM results") {
		stored[id] = true
	}
	for _, next := range told {
		there := 0
		for _, id := range next.IDs {
			if stored[id] {
				there++
			}
		}
		switch {
		case next.Op == opRecorded && next.Error == "" && there != len(next.IDs):
			t.Errorf("%d of %d acknowledged results of %s are there", there, len(next.IDs), next.Agent)
		case there != 0 && there != len(next.IDs):
			t.Errorf("%d of a batch of %d results are there", there, len(next.IDs))
		}
	}
}

// LateHolder lets another process hold the lease, takes it from that, and has it
// write late.
func LateHolder(t *testing.T, fresh Fresh) {
	t.Helper()
	location := fresh(t)
	db := open(t, location)
	workers := startWorkers(t, jobs(1, job{Location: location, Do: doHold}))
	begin(t, workers)
	holder := workers[0]
	hear := func() (told event) {
		if err := holder.out.Decode(&told); err != nil {
			t.Fatalf("the holder fell silent: %v\n%s", err, holder.stderr)
		}
		return told
	}
	held, timely := hear(), hear()
	if timely.Error != "" || !isKept(t, db, timely.IDs[0]) {
		t.Errorf("while the lease held: %+v", timely)
	}
	mine := mustTake(t, db, mustLease(t, db), "the test")
	if mine.Fence <= int64(held.Count) {
		t.Errorf("the fence went from %d to %d", held.Count, mine.Fence)
	}
	if err := holder.in.Encode(true); err != nil {
		t.Fatal(err)
	}
	late := hear()
	if late.Error != registry.ErrLeaseLost.Error() || isKept(t, db, late.IDs[0]) {
		t.Errorf("after the lease was lost: %+v", late)
	}
	if err := holder.in.Encode(true); err != nil {
		t.Fatal(err)
	}
	collect(t, workers, false)
}
