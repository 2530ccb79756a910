package alert_test

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// database is what the processes of a test share: a double of the store with a
// real lease, real standings and a feed.
type database struct {
	mu         sync.Mutex
	lease      registry.Lease
	position   *feed.Position
	alerts     map[string]alert.Alert
	deliveries map[[2]string]alert.Delivery
	events     []feed.Event
	removed    int // events that are kept no more
	registered *registry.Registered
	known      map[string]registry.Known
	preflights map[string][]registry.KeptPreflight // the newest first
	claims     map[task.ID]*claim
	down       bool // nothing can be read or written
	refused    int  // writes under an old fence
}

type claim struct {
	alert.Claim

	verdict alert.Verdict
}

var errDown = errors.New("the database is down")

func newDatabase(components ...string) *database {
	d := &database{
		alerts: map[string]alert.Alert{}, deliveries: map[[2]string]alert.Delivery{}, known: map[string]registry.Known{},
		preflights: map[string][]registry.KeptPreflight{}, claims: map[task.ID]*claim{}, registered: &registry.Registered{},
	}
	d.register(components...)
	return d
}

// register makes components the registered ones.
func (d *database) register(names ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.registered = registeredOf(names...)
}

func registeredOf(names ...string) *registry.Registered {
	made := &registry.Registered{Runs: []registry.Run{{Name: "nightly"}}}
	for _, name := range names {
		made.Components = append(made.Components, registry.Component{
			Name: name, Interval: 30 * time.Second, TTL: 3 * time.Hour,
			Spec: &registry.MCPServer{URL: "http://" + name + ".example", Profile: registry.ThreeGates},
		})
	}
	return made
}

// note reads or changes what is kept; it fails while the database is down.
func (d *database) note(do func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return errDown
	}
	do()
	return nil
}

func (d *database) always(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

// probed folds the result of a probe, and makes its events.
func (d *database) probed(t *testing.T, name string, passed bool) {
	t.Helper()
	record := recordOf(t, registeredOf(name), name, passed, time.Now())
	d.always(func() {
		known, changes := d.known[name].After(record)
		d.known[name] = known
		for _, change := range changes {
			d.happen(feed.Component, name, string(change.To), change.At)
		}
	})
}

// made is how many records were made.
var made atomic.Uint64

// recordOf is the record of a probe of a component.
func recordOf(t *testing.T, registered *registry.Registered, name string, passed bool, at time.Time) registry.Record {
	t.Helper()
	component := registered.Component(name)
	definition, err := component.Definition()
	if err != nil {
		t.Fatal(err)
	}
	result := &registry.ProbeResult{
		Target: "http://" + name + ".example", Profile: registry.ThreeGates, ProbedAt: at,
		Healthz: registry.Pass(time.Millisecond, ""), Test: registry.Pass(time.Millisecond, ""),
		ListTools: registry.ToolsResult{GateResult: registry.Pass(time.Millisecond, ""), ToolCount: 1},
	}
	if !passed {
		result.Healthz = registry.Fail(time.Millisecond, registry.Refused, "connection refused by \u202e"+name)
	}
	// A UUIDv7 of the test's clock (RFC 9562, section 5.7); results of one millisecond are
	// in the order in which they were made, by a counter.
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16|0x7000)
	binary.BigEndian.PutUint64(id[8:], 1<<63|made.Add(1))
	return registry.Record{
		ID: id.String(), Registration: registry.Registration{Name: name, Kind: component.Kind(), Definition: definition},
		Policy: component.Policy(), Summary: result.Summary(),
	}
}

func (d *database) happen(kind feed.Kind, subject, what string, at time.Time) {
	d.events = append(d.events, feed.Event{
		ID: feed.Position{Number: int64(len(d.events) + 1)}, Kind: kind, Subject: subject, What: what, At: at,
	})
}

// preflight keeps a preflight of the run nightly; without a filler it is refused.
func (d *database) preflight(filler string) {
	d.keep(preflightOf(filler))
}

func (d *database) keep(made registry.Preflight) {
	what := feed.Refused
	switch {
	case made.Slots[0].Fallback:
		what = feed.AllowedOnFallback
	case made.Allowed:
		what = feed.Allowed
	}
	d.always(func() {
		kept := registry.KeptPreflight{At: time.Now().UTC().Truncate(time.Millisecond), Preflight: made}
		d.preflights["nightly"] = append([]registry.KeptPreflight{kept}, d.preflights["nightly"]...)
		d.happen(feed.Run, "nightly", what, kept.At)
	})
}

// preflightOf is a preflight of the run nightly, whose slot recon is filled by asm
// or else by one of its fallbacks.
func preflightOf(filler string) registry.Preflight {
	slot := registry.Slot{Name: "recon", Primary: "asm", Fallbacks: []string{"asm-eu", "asm-us"}}
	var attempts []registry.Attempt
	for _, name := range slot.Components() {
		attempt := registry.Attempt{Component: name, Passed: name == filler, Causes: []registry.Cause{}, ResultID: "r"}
		if !attempt.Passed {
			attempt.Causes, attempt.Reason = []registry.Cause{registry.Refused}, "healthz: connection refused"
		}
		attempts = append(attempts, attempt)
	}
	run := &registry.Run{Name: "nightly", Slots: []registry.RunSlot{{Slot: "recon", Required: true}}}
	return registry.NewPreflight(run, []registry.SlotResult{slot.Fill(true, attempts)})
}

// claimed makes a claim that is as old as that.
func (d *database) claimed(id task.ID, age time.Duration) {
	at := time.Now().Add(-age)
	d.always(func() {
		d.claims[id] = &claim{Claim: alert.Claim{TaskID: id, Title: `Fix the "flaky" test`, ClaimedBy: "alice", ClaimedAt: at}}
		d.happen(feed.Task, string(id), string(task.Claimed), at)
	})
}

func (d *database) decide(id task.ID, status task.Status) {
	d.always(func() {
		d.claims[id].verdict = alert.Verdict{TaskID: id, Status: status, At: time.Now()}
		d.happen(feed.Task, string(id), string(status), time.Now())
	})
}

func (d *database) Registered() *registry.Registered {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.registered
}

func (d *database) Known(_ context.Context, names []string) (known []registry.Known, err error) {
	err = d.note(func() {
		for _, name := range names {
			if found, is := d.known[name]; is {
				known = append(known, found)
			}
		}
	})
	return known, err
}

func (d *database) Preflights(_ context.Context, run string, _ registry.PreflightPlace, limit int) (kept []registry.KeptPreflight, err error) {
	err = d.note(func() { kept = slices.Clone(d.preflights[run][:min(limit, len(d.preflights[run]))]) })
	return kept, err
}

func (d *database) Events(_ context.Context, after feed.Position, limit int) (found []feed.Event, err error) {
	err = d.note(func() {
		for _, event := range d.events[d.removed:] {
			if after.Before(event.ID) && len(found) < limit {
				found = append(found, event)
			}
		}
	})
	return found, err
}

func (d *database) Ends(context.Context) (before, newest feed.Position, err error) {
	err = d.note(func() { before.Number, newest.Number = int64(d.removed), int64(len(d.events)) })
	return before, newest, err
}

func (d *database) Lease(context.Context) (lease registry.Lease, err error) {
	err = d.note(func() { lease = d.lease })
	return lease, err
}

func (d *database) TakeLease(_ context.Context, seen registry.Lease, holder string) (lease registry.Lease, taken bool, err error) {
	err = d.note(func() {
		if taken = d.lease == seen; taken {
			d.lease = registry.Lease{Holder: holder, Fence: seen.Fence + 1, Beat: seen.Beat + 1}
		}
		lease = d.lease
	})
	return lease, taken, err
}

func (d *database) ReleaseLease(_ context.Context, fence int64) error {
	return d.note(func() {
		if d.lease.Fence == fence {
			d.lease.Holder = ""
		}
	})
}

func (d *database) Load(context.Context) (kept alert.Kept, err error) {
	err = d.note(func() {
		kept.Position = d.position
		kept.Alerts = slices.Collect(maps.Values(d.alerts))
		kept.Deliveries = slices.Collect(maps.Values(d.deliveries))
	})
	return kept, err
}

func (d *database) Write(_ context.Context, fence int64, change alert.Change) error {
	var lost error
	err := d.note(func() {
		if fence != d.lease.Fence || d.lease.Holder == "" {
			d.refused++
			lost = registry.ErrLeaseLost
			return
		}
		d.lease.Beat++
		if change.Move != nil {
			d.position = &change.Move.To
		}
		for _, a := range change.Alerts {
			d.alerts[a.Key] = a
		}
		for _, one := range change.Deliveries {
			d.deliveries[[2]string{one.Receiver, one.Key}] = one
		}
		for _, key := range change.Gone {
			delete(d.alerts, key)
		}
		maps.DeleteFunc(d.deliveries, func(at [2]string, _ alert.Delivery) bool {
			return slices.Contains(change.Gone, at[1]) || slices.Contains(change.Forgotten, at[0])
		})
	})
	return errors.Join(err, lost)
}

func (d *database) Waiting(_ context.Context, before time.Time, limit int) (found []alert.Claim, err error) {
	err = d.note(func() {
		for id, one := range d.claims {
			if one.verdict.Status == "" && !one.ClaimedAt.After(before) && d.alerts["task:"+string(id)].State != alert.Firing {
				found = append(found, one.Claim)
			}
		}
		slices.SortFunc(found, func(a, b alert.Claim) int { return strings.Compare(string(a.TaskID), string(b.TaskID)) })
		found = found[:min(len(found), limit)]
	})
	return found, err
}

func (d *database) Decided(_ context.Context, limit int) (found []alert.Verdict, err error) {
	err = d.note(func() {
		for id, one := range d.claims {
			if one.verdict.Status != "" && d.alerts["task:"+string(id)].State == alert.Firing && len(found) < limit {
				found = append(found, one.verdict)
			}
		}
	})
	return found, err
}

// firing returns the keys of the alerts that fire.
func (d *database) firing() (keys []string) {
	d.always(func() {
		for key, a := range d.alerts {
			if a.State == alert.Firing {
				keys = append(keys, key)
			}
		}
	})
	slices.Sort(keys)
	return keys
}
