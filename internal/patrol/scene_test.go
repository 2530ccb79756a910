package patrol_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/registry"
)

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

	line     *line
	observer *observer
	log      *bytes.Buffer // to be read after stop
	stop     func()        // ends Run and waits for it
}

// patrols starts a patrol in the bubble of a test.
func patrols(t *testing.T, on patrol.Store, x patrol.Examiner, limits patrol.Limits) *scene {
	t.Helper()
	s := &scene{line: &line{to: on}, observer: &observer{}, log: &bytes.Buffer{}}
	s.Patrol = patrol.New(patrol.Options{
		Name: "test", Store: s.line, Examiner: x, Observer: s.observer, Limits: limits, Log: slog.New(slog.NewTextHandler(s.log, nil)),
	})
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
