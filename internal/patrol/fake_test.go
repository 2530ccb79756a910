package patrol_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/registry"
)

// The test doubles: a store with a real lease and real standings, and an
// examiner that does what a test says.
var (
	_ patrol.Store    = (*process)(nil)
	_ patrol.Examiner = (*examiner)(nil)
	_ patrol.Observer = (*observer)(nil)
)

// database is what the processes of a test share.
type database struct {
	mu        sync.Mutex
	lease     registry.Lease
	standings map[registry.Registration]registry.Standing
	kept      map[string]registry.Record // by id
	refused   int                        // writes under an old fence
	poisoned  string                     // a component whose results are refused for what they are
	rows      int                        // of history that may be trimmed
	trimmed   []int                      // how many rows each call of Trim removed
}

func newDatabase() *database {
	return &database{standings: map[registry.Registration]registry.Standing{}, kept: map[string]registry.Record{}}
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
	return component.Read(d.standings[registrationOf(t, component)], time.Now())
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

// process is the database as one process reaches it: it can be cut off, and
// calls can be held up.
type process struct {
	*database

	line sync.RWMutex
	cut  error         // what every call fails with; nil for a sound line
	held chan struct{} // that every write waits for; nil for none
}

var errCut = fault.New(fault.Unavailable, "the line is cut")

func (p *process) breaks(why error) {
	p.line.Lock()
	defer p.line.Unlock()
	p.cut = why
}

// hold holds writes up, whatever their context says, until release is called.
func (p *process) hold() (release func()) {
	held := make(chan struct{})
	p.line.Lock()
	defer p.line.Unlock()
	p.held = held
	return func() {
		p.line.Lock()
		defer p.line.Unlock()
		p.held = nil
		close(held)
	}
}

// reach returns once the database can be reached, and locks it.
func (p *process) reach(ctx context.Context, writing bool) (func(), error) {
	p.line.RLock()
	cut, held := p.cut, p.held
	p.line.RUnlock()
	if held != nil && writing {
		<-held
	}
	if err := cmp.Or(cut, ctx.Err()); err != nil {
		return nil, err
	}
	p.mu.Lock()
	return p.mu.Unlock, nil
}

func (p *process) Known(ctx context.Context, names []string) ([]registry.Known, error) {
	unlock, err := p.reach(ctx, false)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var known []registry.Known
	for registration, standing := range p.standings {
		if slices.Contains(names, registration.Name) {
			known = append(known, registry.Known{Registration: registration, Standing: standing})
		}
	}
	return known, nil
}

func (p *process) Record(ctx context.Context, fence *int64, records []registry.Record) error {
	unlock, err := p.reach(ctx, true)
	if err != nil {
		return err
	}
	defer unlock()
	if fence == nil || *fence != p.lease.Fence {
		p.refused++
		return fmt.Errorf("record: %w", registry.ErrLeaseLost)
	}
	for _, record := range records {
		if record.Registration.Name == p.poisoned {
			return errors.New("a constraint refuses it")
		}
	}
	p.lease.Beat++
	for _, record := range records {
		if _, twice := p.kept[record.ID]; twice {
			continue
		}
		p.kept[record.ID] = record
		standing := p.standings[record.Registration]
		p.standings[record.Registration] = standing.After(registry.SeenOf(record.ID, record.Summary), record.Policy)
	}
	return nil
}

func (p *process) Trim(ctx context.Context, _ time.Time, _ registry.Retention, most int) (int, error) {
	unlock, err := p.reach(ctx, true)
	if err != nil {
		return 0, err
	}
	defer unlock()
	removed := min(most, p.rows)
	p.rows -= removed
	p.trimmed = append(p.trimmed, removed)
	return removed, nil
}

func (p *process) Lease(ctx context.Context) (registry.Lease, error) {
	unlock, err := p.reach(ctx, false)
	if err != nil {
		return registry.Lease{}, err
	}
	defer unlock()
	return p.lease, nil
}

func (p *process) TakeLease(ctx context.Context, seen registry.Lease, holder string) (registry.Lease, bool, error) {
	unlock, err := p.reach(ctx, true)
	if err != nil {
		return registry.Lease{}, false, err
	}
	defer unlock()
	if p.lease != seen {
		return p.lease, false, nil
	}
	p.lease = registry.Lease{Holder: holder, Fence: seen.Fence + 1}
	return p.lease, true, nil
}

func (p *process) Beat(ctx context.Context, fence int64) error {
	return p.underFence(ctx, fence, func() { p.lease.Beat++ })
}

func (p *process) ReleaseLease(ctx context.Context, fence int64) error {
	return p.underFence(ctx, fence, func() { p.lease.Holder = "" })
}

func (p *process) underFence(ctx context.Context, fence int64, do func()) error {
	unlock, err := p.reach(ctx, true)
	if err != nil {
		return err
	}
	defer unlock()
	if fence != p.lease.Fence {
		p.refused++
		return registry.ErrLeaseLost
	}
	do()
	return nil
}

// start is one probe that was made.
type start struct {
	name string
	at   time.Time
}

// answer makes the result of a probe.
type answer func(ctx context.Context, component *registry.Component) (registry.Summary, error)

// examiner answers probes as a test says, and remembers when they began.
type examiner struct {
	mu         sync.Mutex
	answer     answer
	registered *registry.Registered
	present    map[string]registration
	starts     []start
	running    map[string]int // by host; "" for all
	most       map[string]int // the most at once
	made       int
}

type registration struct {
	component *registry.Component
	of        registry.Registration
}

func newExaminer(t *testing.T, components ...registry.Component) *examiner {
	t.Helper()
	x := &examiner{running: map[string]int{}, most: map[string]int{}}
	x.answers(func(context.Context, *registry.Component) (registry.Summary, error) { return passed(), nil })
	x.use(t, components...)
	return x
}

// note reads or changes what the examiner remembers.
func (x *examiner) note(do func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	do()
}

// answers changes what probes answer from now on.
func (x *examiner) answers(how answer) { x.note(func() { x.answer = how }) }

func (x *examiner) use(t *testing.T, components ...registry.Component) {
	t.Helper()
	present := map[string]registration{}
	for i := range components {
		present[components[i].Name] = registration{&components[i], registrationOf(t, &components[i])}
	}
	x.note(func() { x.registered, x.present = &registry.Registered{Components: components}, present })
}

func registrationOf(t *testing.T, component *registry.Component) registry.Registration {
	t.Helper()
	definition, err := component.Definition()
	if err != nil {
		t.Fatal(err)
	}
	return registry.Registration{Name: component.Name, Kind: component.Kind(), Definition: definition}
}

func (x *examiner) Registered() *registry.Registered {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.registered
}

func (x *examiner) Examine(ctx context.Context, name string) (registry.Record, error) {
	began := time.Now()
	x.mu.Lock()
	found, ok := x.present[name]
	if !ok {
		x.mu.Unlock()
		return registry.Record{}, fault.New(fault.NotFound, "there is no component %q", name)
	}
	x.made++
	id := fmt.Sprintf("%p-%08d", x, x.made)
	x.starts = append(x.starts, start{name, began})
	x.count(found.component.Spec.Host(), 1)
	answer := x.answer
	x.mu.Unlock()
	summary, err := answer(ctx, found.component)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.count(found.component.Spec.Host(), -1)
	summary.ProbedAt = began
	return registry.Record{ID: id, Registration: found.of, Policy: found.component.Policy(), Summary: summary}, err
}

func (x *examiner) count(host string, by int) {
	for _, of := range []string{host, ""} {
		x.running[of] += by
		x.most[of] = max(x.most[of], x.running[of])
	}
}

// probes returns the probes that were made.
func (x *examiner) probes() (made []start) {
	x.note(func() { made = slices.Clone(x.starts) })
	return made
}

// began returns when the probes of a component began; of all, for "".
func (x *examiner) began(name string) []time.Time {
	var times []time.Time
	for _, one := range x.probes() {
		if name == "" || one.name == name {
			times = append(times, one.at)
		}
	}
	return times
}

// forget forgets the probes made so far.
func (x *examiner) forget() { x.note(func() { x.starts = nil }) }

func passed() registry.Summary {
	return registry.Summary{Outcome: registry.OutcomePassed, Causes: []registry.Cause{}}
}

func failed() registry.Summary {
	return registry.Summary{Outcome: registry.OutcomeFailed, Causes: []registry.Cause{registry.Refused}}
}

// wait is a probe that takes a time, unless it is broken off.
func wait(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
		return nil
	}
}

// observer remembers what it was told.
type observer struct {
	mu   sync.Mutex
	seen told
}

type told struct {
	holding                         bool
	lags                            []time.Duration
	passed, failed, stored, batches int
	dropped                         int
}

// told returns what was told so far.
func (o *observer) told() (copied told) {
	o.note(func(seen *told) { copied = *seen })
	return copied
}

func (o *observer) note(change func(seen *told)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(&o.seen)
}

func (o *observer) Holding(yes bool) { o.note(func(seen *told) { seen.holding = yes }) }

func (o *observer) Started(lag time.Duration) {
	o.note(func(seen *told) { seen.lags = append(seen.lags, lag) })
}

func (o *observer) Examined(_ registry.Kind, found registry.Summary) {
	o.note(func(seen *told) {
		if found.Outcome == registry.OutcomePassed {
			seen.passed++
		} else {
			seen.failed++
		}
	})
}

func (o *observer) Stored(results int, _ time.Duration) {
	o.note(func(seen *told) { seen.stored, seen.batches = seen.stored+results, seen.batches+1 })
}

func (o *observer) Dropped(results int) { o.note(func(seen *told) { seen.dropped += results }) }

// server is a component named like its host.
func server(name string, interval time.Duration) registry.Component {
	return registry.Component{
		Name: name, Interval: interval, Timeout: 10 * time.Second,
		Spec: &registry.MCPServer{URL: "http://" + name + ".example", Profile: registry.ThreeGates},
	}
}

// servers are as many as that.
func servers(count int, interval time.Duration) []registry.Component {
	components := make([]registry.Component, count)
	for i := range components {
		components[i] = server(fmt.Sprintf("server-%05d", i), interval)
	}
	return components
}

// scene is one process that patrols.
type scene struct {
	*patrol.Patrol

	line     *process
	examiner *examiner
	observer *observer
	stop     func() // ends Run and waits for it
}

// patrols starts a patrol in the bubble of a test.
func patrols(t *testing.T, on *database, x *examiner, limits patrol.Limits) *scene {
	t.Helper()
	s := &scene{line: &process{database: on}, examiner: x, observer: &observer{}}
	s.Patrol = patrol.New(patrol.Options{Store: s.line, Examiner: x, Observer: s.observer, Limits: limits})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// plenty are limits that no test reaches by chance.
func plenty() patrol.Limits { return patrol.Limits{Concurrency: 64, PerHost: 4} }

// pass lets time go by in the bubble, until nothing moves any more.
func pass(long time.Duration) {
	<-time.After(long)
	synctest.Wait()
}
