// Package examiner owns the one path by which registered components are probed
// and judged, whoever asks: the patrol, a person, a tool, a preflight.
//
// It must not know where the registered set comes from, how results are kept, nor
// who asks. Its one idea is that a component is probed once at a time: whoever
// asks while a probe of it is under way shares that probe, and an answer is given
// only when what it rests on has been recorded.
package examiner

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// MaxProbes is how many probes that were asked for are under way at once, those
// of the patrol not counted, which has limits of its own.
const MaxProbes = 64

// Records is where what is found out is kept. Fault of each method: Unavailable.
type Records interface {
	// Register makes components known; one with a new definition begins anew.
	Register(ctx context.Context, now time.Time, registrations []registry.Registration) error
	// Known returns what is known of components; those never registered are absent.
	Known(ctx context.Context, names []string) ([]registry.Known, error)
	// Record keeps results in one transaction, each id once.
	Record(ctx context.Context, fence *int64, records []registry.Record) error
	// Accept accepts the tools of a component. Fault: WrongState when its present
	// tools are others.
	Accept(ctx context.Context, component, digest string, now time.Time) error
	// KeepPreflight keeps a preflight with its run.
	KeepPreflight(ctx context.Context, at time.Time, preflight *registry.Preflight) error
}

// History is where what was found out is read. Fault of each method: Unavailable.
type History interface {
	// Result returns one result. Fault: NotFound.
	Result(ctx context.Context, id string) (registry.Kept, error)
	// Hours returns hourly sums since a moment, the newest first.
	Hours(ctx context.Context, component string, since time.Time, limit int) ([]registry.Hour, error)
	// Changes returns changes of status, the newest first.
	Changes(ctx context.Context, component string, limit int) ([]registry.Change, error)
	// ToolList returns the tools of a digest. Fault: NotFound.
	ToolList(ctx context.Context, digest string) ([]registry.Tool, error)
}

// Store is all of them.
type Store interface {
	Records
	History
	Shown
	Budgets
}

// Options are what an Examiner needs.
type Options struct {
	Store   Store
	Now     func() time.Time
	Version string                                 // of Countersign, told to the servers
	Resolve func(reference string) (string, error) // has a secret
	Eras    *mcpwire.Eras                          // nil to remember none but its own
	Log     *slog.Logger                           // nil to log nothing

	Tracer   trace.Tracer // of probes; nil for none
	Observer Observer     // nil for none

	// Key has the key that signs tickets, and is called at each need of it; nil when
	// there is none to be had.
	Key func() (ed25519.PrivateKey, error)
	// MaxProbes replaces the default of that name when it is not 0.
	MaxProbes int
}

// Examiner probes registered components and judges slots and runs. It is safe
// for concurrent use. Every goroutine that it starts has ended when the calls
// that share its probe have returned.
type Examiner struct {
	Options

	examine func(context.Context, *registry.Component, probe.Settings) registry.Result
	present atomic.Pointer[present]
	changes sync.RWMutex  // held for writing while the registered set changes
	room    chan struct{} // holds a token for each probe that was asked for

	flights  sharing[flightKey, *flight]
	verdicts sharing[verdictKey, *registry.Preflight]
}

// New returns an examiner for which nothing is registered yet.
func New(options Options) *Examiner {
	if options.Eras == nil {
		options.Eras = mcpwire.NewEras()
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Tracer == nil {
		options.Tracer = noop.Tracer{}
	}
	if options.Observer == nil {
		options.Observer = unobserved{}
	}
	if options.Key == nil {
		options.Key = func() (ed25519.PrivateKey, error) { return nil, errors.New("no key is configured") }
	}
	made := &Examiner{
		Options: options, examine: probe.Examine,
		room: make(chan struct{}, cmp.Or(options.MaxProbes, MaxProbes)),
	}
	made.present.Store(&present{whole: &registry.Registered{}})
	return made
}

// now is the moment as it is kept: in UTC, to the millisecond.
func (e *Examiner) now() time.Time { return e.Now().UTC().Truncate(time.Millisecond) }
