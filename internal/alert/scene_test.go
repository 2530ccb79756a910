package alert_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/registry"
)

// The doubles: a store and a feed, receivers that are reached without a network.
var (
	_ alert.Store       = (*database)(nil)
	_ alert.Feed        = (*database)(nil)
	_ alert.History     = (*database)(nil)
	_ alert.Registry    = (*database)(nil)
	_ alert.Observer    = (*observer)(nil)
	_ http.RoundTripper = (*endpoint)(nil)
)

// endpoint is the receivers of a test.
type endpoint struct {
	mu     sync.Mutex
	answer func(ctx context.Context, got attempt) (status int, header http.Header, err error) // nil for 200
	all    []attempt
}

// attempt is one request that a receiver had.
type attempt struct {
	at      time.Time
	host    string
	path    string
	header  http.Header
	body    string
	message alert.Message // of a webhook without a template
	taken   bool
}

// word is the key and the state of a message: "component:asm firing".
func (a attempt) word() string { return a.message.Key + " " + string(a.message.State) }

func (e *endpoint) answers(with func(ctx context.Context, got attempt) (int, http.Header, error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = with
}

// fails lets every attempt end with a status.
func (e *endpoint) fails(status int) {
	e.answers(func(context.Context, attempt) (int, http.Header, error) { return status, nil, nil })
}

func (e *endpoint) works() { e.answers(nil) }

// RoundTrip implements http.RoundTripper.
func (e *endpoint) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	got := attempt{at: time.Now(), host: request.URL.Host, path: request.URL.Path, header: request.Header.Clone(), body: string(body)}
	_ = json.Unmarshal(body, &got.message)
	e.mu.Lock()
	answer := e.answer
	e.mu.Unlock()
	status, header := http.StatusOK, http.Header{}
	if answer != nil {
		status, header, err = answer(request.Context(), got)
	}
	got.taken = err == nil && status == http.StatusOK
	e.mu.Lock()
	e.all = append(e.all, got)
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("untrusted")), Request: request}, nil
}

// attempts returns all that was tried, and told what was taken, as words.
func (e *endpoint) attempts() []attempt {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

func (e *endpoint) told() (words []string) {
	for _, one := range e.attempts() {
		if one.taken {
			words = append(words, one.word())
		}
	}
	return words
}

// hangs lets an attempt be sent, and never answers it.
func hangs(ctx context.Context, _ attempt) (int, http.Header, error) {
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
	<-ctx.Done()
	return 0, nil, ctx.Err()
}

// observer remembers what it was told.
type observer struct {
	mu                         sync.Mutex
	receivers                  []string
	alerting                   bool
	firing                     map[string]int
	delivered, failed, givenUp int
}

func (o *observer) note(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

func (o *observer) Receivers(names []string)        { o.note(func() { o.receivers = names }) }
func (o *observer) Alerting(yes bool)               { o.note(func() { o.alerting = yes }) }
func (o *observer) Firing(counts map[string]int)    { o.note(func() { o.firing = counts }) }
func (o *observer) Delivered(string, time.Duration) { o.note(func() { o.delivered++ }) }
func (o *observer) Failed(string)                   { o.note(func() { o.failed++ }) }
func (o *observer) GivenUp(string)                  { o.note(func() { o.givenUp++ }) }

func (o *observer) isAlerting() (yes bool) {
	o.note(func() { yes = o.alerting })
	return yes
}

func (o *observer) counts() (counted [3]int) {
	o.note(func() { counted = [3]int{o.delivered, o.failed, o.givenUp} })
	return counted
}

// scene is one process that alerts.
type scene struct {
	*alert.Alerter

	observer *observer
	log      *buffer
	stop     func() // ends Run and waits for it
}

// buffer is a log that may be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(part []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(part)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// hook are the settings of one webhook called ops.
func hook() alert.Settings {
	return alert.Settings{ClaimWaits: 24 * time.Hour, Receivers: []alert.Receiver{
		{Name: "ops", Protocol: alert.Webhook, URL: registry.SecretText("http://ops.example/hook")},
	}}
}

// manager are the settings of one Alertmanager.
func manager() alert.Settings {
	return alert.Settings{Receivers: []alert.Receiver{
		{Name: "am", Protocol: alert.Alertmanager, URL: registry.SecretText("http://am.example/prefix/")},
	}}
}

// alerts starts an alerter; change may be nil.
func alerts(t *testing.T, on *database, to http.RoundTripper, settings alert.Settings, change func(*alert.Options)) *scene {
	t.Helper()
	s := &scene{observer: &observer{}, log: &buffer{}}
	options := alert.Options{
		Name: "test", URL: "http://127.0.0.1:8484/", Store: on, Feed: on, Registry: on, History: on, Settings: settings,
		Resolve: func(reference string) (string, error) { return "", fmt.Errorf("there is no %s", reference) },
		Client:  &http.Client{Transport: to}, Observer: s.observer,
		Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&options)
	}
	s.Alerter = alert.New(options)
	s.start(t)
	return s
}

func (s *scene) start(t *testing.T) {
	t.Helper()
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
}

// pass lets time go by in the bubble, until nothing moves any more.
func pass(long time.Duration) {
	<-time.After(long)
	synctest.Wait()
}
