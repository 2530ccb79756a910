package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// patrollerCommand as the first argument makes this program a process that does
// nothing but patrol a fleet; it is told the rest as one JSON order in the second.
const patrollerCommand = "patroller"

const (
	// patrolSettle is what a patrol gets to take the lease and to make up for the
	// time in which its fleet was launched, before it is measured.
	patrolSettle = 3 * time.Second
	// bareBatch is how long the bare side collects results, as the patrol does.
	bareBatch = 500 * time.Millisecond
)

// patrolOrder is what such a process is to do.
type patrolOrder struct {
	File       string
	Bare       bool
	Components int
	Interval   time.Duration
	For        time.Duration
}

// patrolTally is what it has measured.
type patrolTally struct {
	Processor time.Duration
	Late      []float64 // milliseconds of each start after its due time, sorted
}

// patrolAsTold launches a fleet in a new file, patrols it, and prints the tally.
func patrolAsTold(ctx context.Context, text string, out io.Writer) (err error) {
	var do patrolOrder
	if err := json.Unmarshal([]byte(text), &do); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	database, err := store.Open(ctx, do.File, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	of, err := newFleet(do.Components, do.Interval)
	if err != nil {
		return err
	}
	if err := of.launch(ctx, database, do.Interval); err != nil {
		return err
	}
	run := do.patrol
	if do.Bare {
		run = do.bare
	}
	seen, err := run(ctx, database, of)
	if err != nil {
		return err
	}
	slices.Sort(seen.Late)
	return json.NewEncoder(out).Encode(seen)
}

// starts is told by the patrol how late its probes begin.
type starts struct {
	mu      sync.Mutex
	late    []float64
	dropped int
}

// Started implements patrol.Observer.
func (s *starts) Started(lag time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, lag.Seconds()*1e3)
}

// Dropped implements patrol.Observer.
func (s *starts) Dropped(results int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped += results
}

// Holding implements patrol.Observer.
func (s *starts) Holding(bool) {}

// Examined implements patrol.Observer.
func (s *starts) Examined(registry.Kind, registry.Summary) {}

// Stored implements patrol.Observer.
func (s *starts) Stored(int, time.Duration) {}

// taken returns what was told since the last call.
func (s *starts) taken() (late []float64, dropped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	late, dropped = s.late, s.dropped
	s.late, s.dropped = nil, 0
	return late, dropped
}

// usualLimits are those of a configuration that states none; a test holds them to it.
func usualLimits() patrol.Limits {
	return patrol.Limits{Concurrency: 64, PerHost: 8, Retention: registry.Retention{
		Raw: registry.DefaultRaw, Hourly: registry.DefaultHourly, MaxBytes: registry.DefaultMaxBytes,
	}}
}

// patrol lets the patrol do it.
func (do patrolOrder) patrol(ctx context.Context, database *store.Database, of *fleet) (patrolTally, error) {
	seen := &starts{}
	patrols := patrol.New(patrol.Options{Store: database, Examiner: of, Observer: seen, Limits: usualLimits()})
	running, stop := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error { return patrols.Run(running) })
	var tally patrolTally
	_, err := seen.during(ctx, patrolSettle)
	if err == nil {
		tally, err = seen.during(ctx, do.For)
	}
	if err == nil {
		err = patrols.Health(ctx)
	}
	stop()
	return tally, errors.Join(err, group.Wait())
}

// during measures for a time.
func (s *starts) during(ctx context.Context, long time.Duration) (patrolTally, error) {
	s.taken()
	before, err := processorTime(os.Getpid())
	if err != nil {
		return patrolTally{}, err
	}
	if err := rest(ctx, time.Now().Add(long)); err != nil {
		return patrolTally{}, err
	}
	after, err := processorTime(os.Getpid())
	late, dropped := s.taken()
	if err == nil && dropped > 0 {
		err = fmt.Errorf("%d results were dropped", dropped)
	}
	return patrolTally{after - before, late}, err
}

// bare does the same with a timer and the store alone: as many results at the
// same pace, in batches of the same time.
func (do patrolOrder) bare(ctx context.Context, database *store.Database, of *fleet) (patrolTally, error) {
	var group errgroup.Group
	batches := make(chan []registry.Record, 1024)
	group.Go(func() error {
		for batch := range batches {
			if err := database.Record(ctx, nil, batch); err != nil {
				return err
			}
		}
		return nil
	})
	before, err := processorTime(os.Getpid())
	if err != nil {
		return patrolTally{}, err
	}
	late, err := do.pace(ctx, of, batches)
	close(batches)
	if err := errors.Join(err, group.Wait()); err != nil {
		return patrolTally{}, err
	}
	after, err := processorTime(os.Getpid())
	return patrolTally{after - before, late}, err
}

// pace makes results at the pace of the order.
func (do patrolOrder) pace(ctx context.Context, of *fleet, batches chan<- []registry.Record) (late []float64, err error) {
	var batch []registry.Record
	names, due := of.names(), time.Now()
	sent := due
	for i := range int(do.For * time.Duration(do.Components) / do.Interval) {
		due = due.Add(do.Interval / time.Duration(do.Components))
		if err := rest(ctx, due); err != nil {
			return nil, err
		}
		now := time.Now()
		late = append(late, now.Sub(due).Seconds()*1e3)
		record, err := of.record(names[i%len(names)], now)
		if err != nil {
			return nil, err
		}
		if batch = append(batch, record); now.Sub(sent) > bareBatch {
			batches <- batch
			batch, sent = nil, now
		}
	}
	return late, nil
}

// rest waits until a time.
func rest(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// patrolElsewhere has an order carried out by a process of its own.
func patrolElsewhere(ctx context.Context, do patrolOrder) (patrolTally, error) {
	var seen patrolTally
	self, err := os.Executable()
	if err != nil {
		return seen, err
	}
	text, err := json.Marshal(do)
	if err != nil {
		return seen, err
	}
	process := exec.CommandContext(ctx, self, patrollerCommand, string(text))
	process.Stderr = os.Stderr
	printed, err := process.Output()
	if err != nil {
		return seen, fmt.Errorf("patrol in a process of its own: %w", err)
	}
	return seen, json.Unmarshal(printed, &seen)
}
