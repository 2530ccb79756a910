package examiner_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// memory is a store without a database, which counts and can be told to fail.
type memory struct {
	mu         sync.Mutex
	broken     error
	known      map[string]registry.Known
	kept       map[string]registry.Kept
	lists      map[string][]registry.Tool
	changes    []registry.Change
	preflights []registry.KeptPreflight
	asked      [][]string     // the names of each call of Known
	listed     int            // calls of LastPreflights
	recorded   int            // calls of Record
	tokens     map[string]int // spent, by component and day
	redefined  int            // results that made a component what it was not
	reads      func()         // called before what is known is read
	answers    func([]string) // called after what is known of names was read
	takes      func()         // called before a result or a preflight is kept
}

func newMemory() *memory {
	return &memory{reads: func() {}, answers: func([]string) {}, takes: func() {}, known: map[string]registry.Known{}, kept: map[string]registry.Kept{}, lists: map[string][]registry.Tool{}}
}

// errBroken is what a database says that cannot be reached.
var errBroken = fault.New(fault.Unavailable, "the disk is gone").WithHint("Find it.")

// whenRead has the store do something before it reads what is known of components,
// and after.
func (m *memory) whenRead(reads func(), answers func([]string)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads, m.answers = reads, answers
}

// breakDown makes every later call fail, until it is told nil.
func (m *memory) breakDown(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = err
}

func (m *memory) Register(_ context.Context, now time.Time, registrations []registry.Registration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, each := range registrations {
		m.known[each.Name] = m.known[each.Name].Register(each, now)
	}
	return m.broken
}

func (m *memory) Known(ctx context.Context, names []string) (list []registry.Known, err error) {
	m.mu.Lock()
	reads, answers := m.reads, m.answers
	m.mu.Unlock()
	reads()
	defer func() {
		if answers(names); ctx.Err() != nil {
			list, err = nil, ctx.Err()
		}
	}()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, slices.Clone(names))
	for _, name := range names {
		if one, ok := m.known[name]; ok {
			list = append(list, one)
		}
	}
	return list, m.broken
}

func (m *memory) Record(_ context.Context, _ *int64, records []registry.Record) error {
	m.takes()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	m.recorded++
	for _, record := range records {
		if _, again := m.kept[record.ID]; again {
			continue
		}
		name := record.Registration.Name
		after, changes := m.known[name].After(record)
		if after.Registration != m.known[name].Registration {
			m.redefined++
		}
		m.known[name] = after
		m.changes = append(m.changes, changes...)
		m.kept[record.ID] = registry.Kept{
			ID: record.ID, Component: name, Kind: record.Registration.Kind, Seen: registry.SeenOf(record.ID, record.Summary),
			Latency: record.Summary.Latency, Document: record.Document,
		}
		if record.ToolList != nil {
			m.lists[record.Summary.ToolsDigest] = record.ToolList
		}
	}
	return nil
}

func (m *memory) Accept(_ context.Context, component, digest string, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.known[component]
	if known.ToolsDigest != digest {
		return fault.New(fault.WrongState, "the tools are others")
	}
	known.AcceptedDigest, known.AcceptedAt = digest, now
	m.known[component] = known
	return m.broken
}

func (m *memory) KeepPreflight(_ context.Context, at time.Time, preflight *registry.Preflight) error {
	m.takes()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken == nil {
		m.preflights = append(m.preflights, registry.KeptPreflight{At: at, Preflight: *preflight})
	}
	return m.broken
}

func (m *memory) Result(_ context.Context, id string) (registry.Kept, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept, ok := m.kept[id]
	if !ok {
		return kept, fault.New(fault.NotFound, "there is no result %s", id)
	}
	return kept, m.broken
}

func (m *memory) Hours(context.Context, string, time.Time, int) ([]registry.Hour, error) {
	return nil, m.broken
}

func (m *memory) Changes(_ context.Context, component string, limit int) ([]registry.Change, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []registry.Change
	for _, each := range slices.Backward(m.changes) {
		if each.Component == component && len(list) < limit {
			list = append(list, each)
		}
	}
	return list, m.broken
}

func (m *memory) ToolList(_ context.Context, digest string) ([]registry.Tool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tools, ok := m.lists[digest]
	if !ok {
		return nil, fault.New(fault.NotFound, "there is no list %s", digest)
	}
	return tools, m.broken
}
