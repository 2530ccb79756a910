package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
)

// waits keeps what Options.Waited is told.
type waits struct {
	mu  sync.Mutex
	all []time.Duration
}

func (w *waits) add(waited time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, waited)
}

func (w *waits) told() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all
}

func TestWaited_isToldOfEveryWriteAndOfThoseThatGaveUp(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) {
		heard := &waits{}
		db := open(t, fresh(t), store.Options{Waited: heard.add})
		for range 2 {
			if _, err := db.Create(t.Context(), newTask(t, "a task")); err != nil {
				t.Fatal(err)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := db.Create(ended, newTask(t, "given up")); !errors.Is(err, fault.Unavailable) {
			t.Errorf("got %v, want E_UNAVAILABLE", err)
		}
		if _, err := db.Counts(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if told := heard.told(); len(told) != 3 {
			t.Errorf("of 3 writes and a read %d waits were told: %v", len(told), told)
		}
	})
}

// TestWaited_tellsOfTheTimeInTheQueue holds the lock of the writers as another
// process does.
func TestWaited_tellsOfTheTimeInTheQueue(t *testing.T) {
	file, heard, patience := storetest.SQLite(t), &waits{}, 60*time.Millisecond
	db := open(t, file, store.Options{WriteWait: patience, Waited: heard.add})
	held := flock.New(file + ".wlock")
	if err := held.Lock(); err != nil {
		t.Fatal(err)
	}
	_, err := db.Create(t.Context(), newTask(t, "given up"))
	if err := errors.Join(held.Unlock(), held.Close()); err != nil {
		t.Fatal(err)
	}
	if told := heard.told(); !errors.Is(err, fault.Unavailable) || len(told) != 1 || told[0] < patience {
		t.Errorf("the writer that gave up after %v waited %v (%v)", patience, told, err)
	}
}
