package examiner

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/internal/cursor"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/trouble"
)

const (
	// glanceAge is how old what is seen of all components may be before it is read
	// anew behind the back of whoever asks, and maxGlanceAge before they wait for it.
	glanceAge    = time.Second
	maxGlanceAge = 30 * time.Second
	// glanceTime is how long somebody waits until all components are read, and
	// quietTime how long that may take behind their backs: on a machine under load it
	// competes with those who ask.
	glanceTime = 5 * time.Second
	quietTime  = 20 * time.Second

	// maxParts bounds the readings for a page of one status, of which each finds that
	// components have left the status since the glance. What is left over is on the
	// next page.
	maxParts = 4

	// maxLapsed is how many components are read anew by their names for somebody who
	// asks, because the clock would change their status since they were read. When
	// there are more, all are read, at most once in glanceAge.
	maxLapsed = 500
)

// Glance is an Examiner that keeps the status of all components in mind, so that
// what it tells of a few does not cost more the more there are. What it keeps is at
// most maxGlanceAge old, and while Run runs about glanceAge; Refresh makes it new.
// It is safe for concurrent use.
type Glance struct {
	*Examiner

	latest   atomic.Pointer[sight]
	turn     chan struct{} // holds a token while somebody reads all components
	changing chan struct{} // holds a token while somebody changes the latest sight
	wanted   chan struct{} // holds a token when Run is to read all components anew
	running  atomic.Bool
	doubts   atomic.Int64 // how often something was to be read anew and could not

	mu   sync.Mutex
	late map[string]bool // what was to be read anew since the latest reading of all began

	failure   error // of the latest reading, under the turn
	failureAt time.Time
}

// NewGlance returns a glance at what the examiner examines.
func NewGlance(of *Examiner) *Glance {
	return &Glance{
		Examiner: of, turn: make(chan struct{}, 1), changing: make(chan struct{}, 1), wanted: make(chan struct{}, 1), late: map[string]bool{},
	}
}

// Run reads all components anew while somebody asks for what is kept of them, and after
// a failure until they can be read, at most once in glanceAge, until ctx ends. It
// returns nil. Without it whoever asks waits for what is older than that.
func (g *Glance) Run(ctx context.Context) error {
	g.running.Store(true)
	defer g.running.Store(false)
	reading := trouble.Log{
		To: g.Log, Level: slog.LevelWarn, Fails: "the status of all components cannot be read", Works: "the status of all components can be read again",
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-g.wanted:
		}
		if !pause(ctx, g.untilOld()) {
			return nil
		}
		_, err := g.renew(ctx, quietTime, glanceAge)
		reading.Note(ctx, err)
		if err == nil {
			continue
		}
		if !pause(ctx, glanceAge) {
			return nil
		}
		g.want()
	}
}

// untilOld is how long it takes until what is kept is to be read anew.
func (g *Glance) untilOld() time.Duration {
	if seen := g.latest.Load(); g.isSure(seen, maxGlanceAge) {
		return glanceAge - g.Now().Sub(seen.readAt)
	}
	return 0
}

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// isWithin reports whether a sight is of what is registered now, and not too old.
func (g *Glance) isWithin(seen *sight, most time.Duration) bool {
	if seen == nil || seen.of != g.present.Load() {
		return false
	}
	age := g.Now().Sub(seen.readAt)
	return age >= 0 && age < most
}

// isSure is isWithin, of a sight that was not doubted since.
func (g *Glance) isSure(seen *sight, most time.Duration) bool {
	return g.isWithin(seen, most) && seen.doubts == g.doubts.Load()
}

// look returns what is kept of all components, or reads it, and the moment that it is
// to be told of. At that moment nothing in it has another status than when it was
// read: what the clock would change is read anew, since a patrol may have probed it.
// Where that fails, the clock decides. Faults: Unavailable.
func (g *Glance) look(ctx context.Context) (*sight, time.Time, error) {
	seen, err := g.kept(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	now := g.now()
	if len(seen.lapsed(now)) > 0 && g.isSure(seen, maxGlanceAge) {
		within, cancel := context.WithTimeout(ctx, glanceTime)
		defer cancel()
		again, err := g.reread(within, func(latest *sight) []string { return latest.lapsed(now) })
		switch {
		case ctx.Err() != nil: // It says something about who asked alone.
			return nil, time.Time{}, leaving(ctx, "the components had not been read anew")
		case err != nil:
			g.Doubt()
		case again != nil:
			seen = again
		}
	}
	return seen.asOf(now), now, nil
}

// kept returns what is kept of all components, or reads it when it is too old or too
// much of it has lapsed. What is doubted is shown when it cannot be read anew. Fault:
// Unavailable.
func (g *Glance) kept(ctx context.Context) (*sight, error) {
	enough, latest := glanceAge, g.latest.Load()
	isToBeKept := latest == nil || len(latest.lapsed(g.now())) <= maxLapsed
	if isToBeKept && g.running.Load() {
		enough = maxGlanceAge
	}
	if g.isSure(latest, enough) {
		if isToBeKept {
			g.want()
		}
		return latest, nil
	}
	seen, err := g.renew(ctx, glanceTime, enough)
	if err == nil {
		return seen, nil
	}
	g.want()
	if ctx.Err() != nil {
		return nil, err
	}
	if latest = g.latest.Load(); g.isWithin(latest, maxGlanceAge) {
		return latest, nil
	}
	return nil, err
}

// want has Run read all components anew.
func (g *Glance) want() {
	select {
	case g.wanted <- struct{}{}:
	default:
	}
}

// take puts a token into a place that holds one, and reports whether it did so before
// ctx ended.
func take(ctx context.Context, place chan struct{}) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case place <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// renew reads all components within a time, unless another has just done so and what
// was read is young enough. A failure is that of all who ask within glanceAge. Fault:
// Unavailable.
func (g *Glance) renew(ctx context.Context, within, enough time.Duration) (*sight, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if !take(ctx, g.turn) {
		return nil, leaving(ctx, "the components had not been read")
	}
	defer func() { <-g.turn }()
	if seen := g.latest.Load(); g.isSure(seen, enough) {
		return seen, nil
	}
	if g.failure != nil && g.Now().Sub(g.failureAt) < glanceAge {
		return nil, g.failure
	}
	seen, err := g.read(ctx)
	if ctx.Err() != nil && err != nil { // It says something about who asked alone.
		return nil, err
	}
	g.failure, g.failureAt = err, g.Now()
	return seen, err
}

// read reads all components, and once more what was to be read anew meanwhile; the
// turn is held.
func (g *Glance) read(ctx context.Context) (*sight, error) {
	g.mu.Lock()
	g.late = map[string]bool{}
	g.mu.Unlock()
	at := g.now()
	seen := &sight{of: g.present.Load(), readAt: g.Now(), doubts: g.doubts.Load()}
	known, err := g.known(ctx, seen.of.names)
	if err != nil {
		return nil, err
	}
	seen.rows = make([]*row, 0, len(seen.of.names))
	for _, name := range seen.of.names {
		seen.rows = append(seen.rows, newRow(seen.of.entries[name], known[name], at))
	}
	seen.sort()
	if !take(ctx, g.changing) {
		return nil, leaving(ctx, "the components had not been read")
	}
	defer func() { <-g.changing }()
	if late := g.meanwhile(); len(late) > 0 {
		at = g.now()
		if known, err = g.known(ctx, late); err != nil {
			return nil, err
		}
		seen = seen.with(late, known, at)
	}
	g.latest.Store(seen)
	return seen, nil
}

// meanwhile is what was to be read anew since the latest reading of all began.
func (g *Glance) meanwhile() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.late))
}

// Refresh makes what is kept of some components new for everybody. It does not wait
// for a reading of all that is under way, nor does that undo it. Where it fails,
// whoever asks next waits until all are read anew. Fault: Unavailable.
func (g *Glance) Refresh(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	registered := g.present.Load().entries
	g.mu.Lock()
	for _, name := range names {
		if registered[name] != nil {
			g.late[name] = true
		}
	}
	g.mu.Unlock()
	_, err := g.reread(ctx, func(*sight) []string { return names })
	if err != nil {
		g.Doubt()
	}
	return err
}

// reread reads some components of the latest sight anew, and returns what is kept
// then. It returns nil when that is so old that whoever asks next reads all anyway.
// Fault: Unavailable.
func (g *Glance) reread(ctx context.Context, choose func(*sight) []string) (*sight, error) {
	if !take(ctx, g.changing) {
		return nil, leaving(ctx, "the components had not been read anew")
	}
	defer func() { <-g.changing }()
	seen := g.latest.Load()
	if !g.isWithin(seen, maxGlanceAge) {
		return nil, nil
	}
	names, at := choose(seen), g.now()
	if len(names) == 0 {
		return seen, nil
	}
	known, err := g.known(ctx, names)
	if err != nil {
		return nil, err
	}
	seen = seen.with(names, known, at)
	g.latest.Store(seen)
	return seen, nil
}

// Doubt has whoever asks next wait until all components are read anew, or cannot be.
func (g *Glance) Doubt() { g.doubts.Add(1) }

// Readings returns all registered components as they are kept, in the order of their
// names. Fault: Unavailable.
func (g *Glance) Readings(ctx context.Context) ([]registry.Reading, error) {
	seen, now, err := g.look(ctx)
	if err != nil {
		return nil, err
	}
	readings := make([]registry.Reading, 0, len(seen.rows))
	for _, one := range seen.rows {
		readings = append(readings, one.of.read(one.known, now))
	}
	return readings, nil
}

// Attention tells what a person should look at first: what makes a run refuse or start
// on a fallback, then the others by their urgency, at most limit (1 to registry.MaxPage;
// 0 for registry.DefaultPage), and how many there are. Those that need no attention
// come last. Faults: InvalidArgument, Unavailable.
func (g *Glance) Attention(ctx context.Context, limit int) (registry.Attention, error) {
	limit, err := checkLimit(limit)
	if err != nil {
		return registry.Attention{}, err
	}
	seen, now, err := g.look(ctx)
	if err != nil {
		return registry.Attention{}, err
	}
	told := registry.Attention{Components: []registry.Reading{}, Counts: seen.counts, Wants: map[string]registry.Wanted{}}
	for _, one := range seen.pressing[:min(len(seen.pressing), limit)] {
		told.Components = append(told.Components, one.of.read(one.known, now))
		if one.place.need != registry.NeedNone {
			told.Wants[one.place.name] = registry.Wanted{Need: one.place.need, Run: one.run}
		}
	}
	return told, nil
}

// Components is that of the examiner, and finds those of one status, and those that
// need attention, in what is kept; a page of one status may be shorter than its limit
// though there is a next one.
func (g *Glance) Components(ctx context.Context, query registry.ComponentQuery) (registry.ComponentPage, error) {
	if query.Status == "" && !query.Attention {
		return g.Examiner.Components(ctx, query)
	}
	limit, err := checkQuery(&query)
	if err != nil {
		return registry.ComponentPage{Components: []registry.Reading{}}, err
	}
	if query.Attention {
		return g.needing(ctx, query, limit)
	}
	after, err := nameAt(cursor.Components, query.Cursor)
	if err != nil {
		return registry.ComponentPage{Components: []registry.Reading{}}, err
	}
	seen, _, err := g.look(ctx)
	if err != nil {
		return registry.ComponentPage{Components: []registry.Reading{}}, err
	}
	size := pageSize{limit, limit + 1}
	names := seen.of.matching(following(seen.byStatus[query.Status], after), query, maxParts*size.atOnce)
	page, err := g.page(ctx, seen.of, names, query.Status, size)
	if err == nil && page.NextCursor == "" && len(names) == maxParts*size.atOnce {
		page.NextCursor = cursor.Components.After("", []byte(names[len(names)-1]))
	}
	return page, err
}

// needing finds those of a query that need attention in what is kept. Faults:
// InvalidArgument, Unavailable.
func (g *Glance) needing(ctx context.Context, query registry.ComponentQuery, limit int) (registry.ComponentPage, error) {
	after, err := pressingAt(query.Cursor)
	if err != nil {
		return registry.ComponentPage{Components: []registry.Reading{}}, err
	}
	seen, now, err := g.look(ctx)
	if err != nil {
		return registry.ComponentPage{Components: []registry.Reading{}}, err
	}
	return pageOf(seen.pressing, query, after, limit, now), nil
}
