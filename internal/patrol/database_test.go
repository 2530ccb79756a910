package patrol_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/registry"
)

// The test doubles: a store with a real lease and real standings, and an
// examiner that does what a test says.
var (
	_ patrol.Store    = (*database)(nil)
	_ patrol.Store    = (*line)(nil)
	_ patrol.Examiner = (*examiner)(nil)
	_ patrol.Observer = (*observer)(nil)
)

// database is what the processes of a test share.
type database struct {
	mu       sync.Mutex
	lease    registry.Lease
	known    map[registry.Registration]registry.Known
	kept     map[string]registry.Record // by id
	refused  int                        // writes under an old fence
	poisoned string                     // a component whose results are refused for what they are
	refusing bool                       // the results of all components are
	rows     int                        // of history that may be trimmed
	trimmed  []int                      // how many rows each call of Trim removed
}

func newDatabase() *database {
	return &database{known: map[registry.Registration]registry.Known{}, kept: map[string]registry.Record{}}
}

// note reads or changes what is kept.
func (d *database) note(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

// seen returns the lease, and how many results are kept and writes were refused.
func (d *database) seen() (lease registry.Lease, kept, refused int) {
	d.note(func() { lease, kept, refused = d.lease, len(d.kept), d.refused })
	return lease, kept, refused
}

// reading is the status of a component as anybody reads it now.
func (d *database) reading(t *testing.T, component *registry.Component) registry.Reading {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	return component.Read(d.known[registrationOf(t, component)].Standing, time.Now())
}

func (d *database) results(name string) []registry.Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []registry.Record
	for _, record := range d.kept {
		if record.Registration.Name == name {
			found = append(found, record)
		}
	}
	slices.SortFunc(found, func(a, b registry.Record) int { return a.Summary.ProbedAt.Compare(b.Summary.ProbedAt) })
	return found
}

func (d *database) Known(_ context.Context, names []string) ([]registry.Known, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var known []registry.Known
	for registration, one := range d.known {
		if slices.Contains(names, registration.Name) {
			known = append(known, one)
		}
	}
	return known, nil
}

func (d *database) Record(_ context.Context, fence *int64, records []registry.Record) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, record := range records {
		if d.refusing || record.Registration.Name == d.poisoned {
			return errors.New("a constraint refuses it")
		}
	}
	if err := d.fenced(*fence); err != nil {
		return err
	}
	for _, record := range records {
		if _, twice := d.kept[record.ID]; twice {
			continue
		}
		d.kept[record.ID] = record
		d.known[record.Registration], _ = d.known[record.Registration].After(record)
	}
	return nil
}

// fenced beats, unless the fence is not that of the lease.
func (d *database) fenced(fence int64) error {
	if fence != d.lease.Fence || d.lease.Holder == "" {
		d.refused++
		return registry.ErrLeaseLost
	}
	d.lease.Beat++
	return nil
}

func (d *database) Trim(_ context.Context, _ time.Time, _ registry.Retention, most int) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	removed := min(most, d.rows)
	d.rows -= removed
	d.trimmed = append(d.trimmed, removed)
	return removed, nil
}

func (d *database) Lease(context.Context) (registry.Lease, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lease, nil
}

func (d *database) TakeLease(_ context.Context, seen registry.Lease, holder string) (registry.Lease, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lease != seen {
		return d.lease, false, nil
	}
	d.lease = registry.Lease{Holder: holder, Fence: seen.Fence + 1, Beat: seen.Beat + 1}
	return d.lease, true, nil
}

func (d *database) Beat(_ context.Context, fence int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fenced(fence)
}

func (d *database) ReleaseLease(_ context.Context, fence int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fenced(fence) == nil {
		d.lease.Holder = ""
	}
	return nil
}

// line is a store as one process reaches it: it can be cut, and writes can be
// held up.
type line struct {
	to patrol.Store

	mu      sync.Mutex
	cut     error         // what every call fails with; nil for a sound line
	held    chan struct{} // that every write waits for; nil for none
	refused int           // writes that failed because the lease was lost
	read    int           // calls of Known
}

var errCut = fault.New(fault.Unavailable, "the line is cut")

// breaks cuts the line, or mends it with nil.
func (l *line) breaks(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = why
}

// hold holds writes up, whatever their context says, until release is called.
func (l *line) hold() (release func()) {
	held := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = held
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held = nil
		close(held)
	}
}

// refusals is how many writes the lost lease has refused.
func (l *line) refusals() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// reach makes a call once the store can be reached.
func (l *line) reach(writes bool, call func() error) error {
	l.mu.Lock()
	cut, held := l.cut, l.held
	l.mu.Unlock()
	if held != nil && writes {
		<-held
	}
	if cut != nil {
		return cut
	}
	err := call()
	if errors.Is(err, registry.ErrLeaseLost) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.refused++
	}
	return err
}

// readings is how often the store was asked what it knows.
func (l *line) readings() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.read
}

func (l *line) Known(ctx context.Context, names []string) (known []registry.Known, err error) {
	l.mu.Lock()
	l.read++
	l.mu.Unlock()
	err = l.reach(false, func() error {
		var failed error
		known, failed = l.to.Known(ctx, names)
		return failed
	})
	return known, err
}

func (l *line) Record(ctx context.Context, fence *int64, records []registry.Record) error {
	return l.reach(true, func() error { return l.to.Record(ctx, fence, records) })
}

func (l *line) Trim(ctx context.Context, now time.Time, retention registry.Retention, most int) (removed int, err error) {
	err = l.reach(true, func() error {
		var failed error
		removed, failed = l.to.Trim(ctx, now, retention, most)
		return failed
	})
	return removed, err
}

func (l *line) Lease(ctx context.Context) (lease registry.Lease, err error) {
	err = l.reach(false, func() error {
		var failed error
		lease, failed = l.to.Lease(ctx)
		return failed
	})
	return lease, err
}

func (l *line) TakeLease(ctx context.Context, seen registry.Lease, holder string) (lease registry.Lease, taken bool, err error) {
	err = l.reach(true, func() error {
		var failed error
		lease, taken, failed = l.to.TakeLease(ctx, seen, holder)
		return failed
	})
	return lease, taken, err
}

func (l *line) Beat(ctx context.Context, fence int64) error {
	return l.reach(true, func() error { return l.to.Beat(ctx, fence) })
}

func (l *line) ReleaseLease(ctx context.Context, fence int64) error {
	return l.reach(true, func() error { return l.to.ReleaseLease(ctx, fence) })
}
