package alert

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Feed is the order of what happens. Fault of each method: Unavailable.
type Feed interface {
	Events(ctx context.Context, after feed.Position, limit int) ([]feed.Event, error)
	Ends(ctx context.Context) (before, newest feed.Position, err error)
}

// Registry tells what is registered.
type Registry interface {
	// Registered returns the present set, which never changes.
	Registered() *registry.Registered
}

// History tells what events are about. Fault of each method: Unavailable.
type History interface {
	// Known returns what is known of those names that were ever registered, in
	// their order.
	Known(ctx context.Context, names []string) ([]registry.Known, error)
	// Preflights returns the preflights of a run that come after a place, the newest
	// first.
	Preflights(ctx context.Context, run string, after registry.PreflightPlace, limit int) ([]registry.KeptPreflight, error)
}

// Observer is told what the alerter does. Its methods must not block, and are
// called from several goroutines. The receivers are those of the settings.
type Observer interface {
	// Receivers tells which there are, before anything is sent to any.
	Receivers(names []string)
	// Alerting tells whether this process is the one that alerts.
	Alerting(yes bool)
	// Firing tells how many alerts of each kind fire, whenever that may have changed;
	// none once this process does not alert any more.
	Firing(counts map[string]int)
	// Delivered tells that a receiver has taken alerts, and how long that took.
	Delivered(receiver string, took time.Duration)
	// Failed tells that a receiver has not taken what it was sent.
	Failed(receiver string)
	// GivenUp tells that an alert is not tried any more to be delivered to a receiver.
	GivenUp(receiver string)
}

// Options is what an alerter works with. Client, Now, Log, Observer and MaxOpen may
// be left out.
type Options struct {
	Name     string // of this process, by which others tell in their logs who alerts
	URL      string // of this server; links begin with it when the settings do not say
	Store    Store
	Feed     Feed
	Registry Registry
	History  History
	Settings Settings
	Resolve  func(reference string) (string, error) // reads secrets
	Client   *http.Client                           // by which messages are sent; its redirects and time-out are set here
	Now      func() time.Time
	Log      *slog.Logger
	Observer Observer
	MaxOpen  int // 0 for MaxOpen
}

// Alerter notifies receivers of what happens, in whichever process holds the lease. It
// is safe for concurrent use.
type Alerter struct {
	Options

	holder  string // names this alerter in the lease; no two are alike
	reloads chan struct{}

	mu       sync.Mutex
	settings Settings
	states   map[string]ReceiverState
}

// ReceiverState is how a receiver takes what it is sent, as far as this process has
// sent it anything since it was started.
type ReceiverState struct {
	Receiver     string
	Protocol     Protocol
	FailingSince time.Time // zero while it takes what it is sent
	Failures     int       // in a row
	Reason       string    // of the last failure; it holds no secret
	Hint         string    // what to do about it
}

// New makes an alerter, which does nothing until Run.
func New(o Options) *Alerter {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Client == nil {
		o.Client = newClient()
	}
	o.Client, o.MaxOpen = withoutRedirects(o.Client), cmp.Or(o.MaxOpen, MaxOpen)
	o.Observer.Receivers(o.Settings.names())
	return &Alerter{
		Options: o, holder: o.Name + " " + uuid.NewString(), reloads: make(chan struct{}, 1),
		settings: o.Settings, states: map[string]ReceiverState{},
	}
}

// Reload takes other settings, from the next attempt on. A receiver that keeps
// its name is not sent again what it has taken; what it has not taken is tried at once.
func (a *Alerter) Reload(settings Settings) {
	a.mu.Lock()
	a.settings = settings
	a.Observer.Receivers(settings.names())
	a.mu.Unlock()
	select {
	case a.reloads <- struct{}{}:
	default: // one reload that nobody has seen yet covers this one
	}
}

func (a *Alerter) current() Settings {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.settings
}

// ReceiverStates returns that of each receiver of the settings, by their names.
// That one fails says nothing about this server.
func (a *Alerter) ReceiverStates() []ReceiverState {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]ReceiverState, 0, len(a.settings.Receivers))
	for i := range a.settings.Receivers {
		r := &a.settings.Receivers[i]
		found := a.states[r.Name]
		found.Receiver, found.Protocol = r.Name, r.Protocol
		all = append(all, found)
	}
	slices.SortFunc(all, func(x, y ReceiverState) int { return cmp.Compare(x.Receiver, y.Receiver) })
	return all
}

// ClaimWaits is how long a claim may wait for its verdict before somebody is notified;
// 0 when nobody is.
func (a *Alerter) ClaimWaits() time.Duration {
	settings := a.current()
	if !settings.wanted(OfTask) {
		return 0
	}
	return settings.ClaimWaits
}

func (a *Alerter) updateState(name string, change func(*ReceiverState)) ReceiverState {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.states[name]
	change(&found)
	a.states[name] = found
	return found
}

// unobserved is the observer of an alerter that has none.
type unobserved struct{}

func (unobserved) Receivers([]string)              {}
func (unobserved) Alerting(bool)                   {}
func (unobserved) Firing(map[string]int)           {}
func (unobserved) Delivered(string, time.Duration) {}
func (unobserved) Failed(string)                   {}
func (unobserved) GivenUp(string)                  {}
