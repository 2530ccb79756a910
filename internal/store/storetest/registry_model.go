package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// registryMachine runs the same operations on a database and on what they add up
// to by registry.Known alone.
type registryMachine struct {
	ctx     context.Context //nolint:containedctx // a test's own, for every operation of the machine
	db      *store.Database
	names   []string
	now     time.Time
	known   map[string]registry.Known
	changes map[string][]registry.Change // newest first
	hours   map[string]map[time.Time]*registry.Hour
	ids     map[string][]string
	last    []registry.Record
}

// registryModel holds the database against registry.Known over random
// operations. The components of all runs share one database.
func registryModel(t *testing.T, location string) {
	db := open(t, location)
	rapid.Check(t, func(t *rapid.T) {
		m := &registryMachine{
			ctx: context.Background(), db: db, now: day(), known: map[string]registry.Known{}, changes: map[string][]registry.Change{},
			hours: map[string]map[time.Time]*registry.Hour{}, ids: map[string][]string{},
		}
		run := uuid.NewString()
		m.names = []string{"a-" + run, "b-" + run, "c-" + run}
		t.Repeat(map[string]func(*rapid.T){
			"record":       m.record,
			"record again": m.recordAgain,
			"register":     m.register,
			"accept":       m.accept,
		})
		m.compare(t)
	})
}

// result draws one that is usually a little later than the one before, and now
// and then hours away.
func (m *registryMachine) result(t *rapid.T) registry.Record {
	m.now = m.now.Add(time.Duration(rapid.IntRange(0, 120_000).Draw(t, "passed ms")) * time.Millisecond)
	at := m.now
	if rapid.IntRange(0, 9).Draw(t, "astray") == 0 {
		at = at.Add(time.Duration(rapid.IntRange(-180, 180).Draw(t, "minutes")) * time.Minute)
	}
	cause := rapid.SampledFrom([]registry.Cause{"", "", registry.ZeroTools, registry.Denied}).Draw(t, "cause")
	record := recordOf(rapid.SampledFrom(m.names).Draw(t, "component"), found(at, cause, tools(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "tools"))))
	record.Registration.Definition = rapid.SampledFrom([]string{"one", "one", "one", "two"}).Draw(t, "definition")
	record.Policy.Rise, record.Policy.Fall = rapid.IntRange(1, 3).Draw(t, "rise"), rapid.IntRange(1, 3).Draw(t, "fall")
	record.Summary.Reason = strings.ToValidUTF8(strings.ReplaceAll(record.Summary.Reason, "\x00", ""), "")
	return record
}

func (m *registryMachine) record(t *rapid.T) {
	m.last = nil
	for range rapid.IntRange(1, 6).Draw(t, "results") {
		m.last = append(m.last, m.result(t))
	}
	if err := m.db.Record(m.ctx, nil, m.last); err != nil {
		t.Fatal(err)
	}
	folded := slices.SortedFunc(slices.Values(m.last), func(a, b registry.Record) int {
		return cmp.Or(a.Summary.ProbedAt.Compare(b.Summary.ProbedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, next := range folded {
		m.fold(next)
	}
}

func (m *registryMachine) fold(record registry.Record) {
	name := record.Registration.Name
	known, changes := m.known[name].After(record)
	m.known[name] = known
	for _, change := range changes {
		m.changes[name] = append([]registry.Change{change}, m.changes[name]...)
	}
	m.ids[name] = append(m.ids[name], record.ID)
	if m.hours[name] == nil {
		m.hours[name] = map[time.Time]*registry.Hour{}
	}
	start := record.Summary.ProbedAt.Truncate(time.Hour)
	hour := m.hours[name][start]
	if hour == nil {
		hour = &registry.Hour{Component: name, Start: start}
		m.hours[name][start] = hour
	}
	switch record.Summary.Outcome {
	case registry.OutcomePassed:
		hour.Passed++
	case registry.OutcomeFailed:
		hour.Failed++
	case registry.OutcomeUndecided:
		hour.Undecided++
	}
	ms := registry.Milliseconds(record.Summary.Latency)
	hour.LatencyMs.Sum, hour.LatencyMs.Max = hour.LatencyMs.Sum+ms, max(hour.LatencyMs.Max, ms)
}

func (m *registryMachine) recordAgain(t *rapid.T) {
	if err := m.db.Record(m.ctx, nil, m.last); err != nil {
		t.Fatal(err)
	}
}

func (m *registryMachine) register(t *rapid.T) {
	registrations := []registry.Registration{registrationOf(m.names[0]), registrationOf(m.names[1])}
	for i := range registrations {
		registrations[i].Definition = rapid.SampledFrom([]string{"one", "two"}).Draw(t, "definition")
		m.known[m.names[i]] = m.known[m.names[i]].Register(registrations[i], m.now)
	}
	if err := m.db.Register(m.ctx, m.now, registrations); err != nil {
		t.Fatal(err)
	}
}

func (m *registryMachine) accept(t *rapid.T) {
	name := rapid.SampledFrom(m.names).Draw(t, "component")
	known := m.known[name]
	err := m.db.Accept(m.ctx, name, known.ToolsDigest, m.now)
	switch {
	case known.Registration.Name == "":
		if !errors.Is(err, fault.NotFound) {
			t.Fatalf("accepting tools of %s: got %v, want E_NOT_FOUND", name, err)
		}
	case known.ToolsDigest == "":
		if !errors.Is(err, fault.WrongState) {
			t.Fatalf("accepting no tools: got %v, want E_WRONG_STATE", err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		known.AcceptedDigest, known.AcceptedAt = known.ToolsDigest, m.now
		m.known[name] = known
	}
}

// compare reads everything of the run's components.
func (m *registryMachine) compare(t *rapid.T) {
	var want []registry.Known
	for _, name := range m.names {
		if known, ok := m.known[name]; ok && known.Registration.Name != "" {
			want = append(want, known)
		}
	}
	got, err := m.db.Known(m.ctx, m.names)
	agreed(t, "known", want, got, err)
	for _, name := range m.names {
		changes, err := m.db.Changes(m.ctx, name, 1000)
		agreed(t, "changes", m.changes[name], changes, err)
		results, err := m.db.Results(m.ctx, name, "", 1000)
		var ids []string
		for i := range results {
			ids = append(ids, results[i].ID)
		}
		slices.Sort(m.ids[name])
		slices.Reverse(ids)
		agreed(t, "results", m.ids[name], ids, err)
		hours, err := m.db.Hours(m.ctx, name, time.Time{}, 1000)
		var wantHours []registry.Hour
		for _, start := range slices.SortedFunc(maps.Keys(m.hours[name]), func(a, b time.Time) int { return b.Compare(a) }) {
			wantHours = append(wantHours, *m.hours[name][start])
		}
		agreed(t, "hours", wantHours, hours, err)
		if known := m.known[name]; known.ToolsDigest != "" {
			if _, err := m.db.ToolList(m.ctx, known.ToolsDigest); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func agreed[T any](t *rapid.T, name string, want, got T, err error) {
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApprox(0, 1e-6)); err != nil || diff != "" {
		t.Fatal(fmt.Sprintf("%s (-model +store): %v\n%s", name, err, diff))
	}
}
