package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	examine "github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

const (
	fleetSize     = 10_000
	fleetInterval = time.Minute

	coveredSize     = 1000
	coveredInterval = 10 * time.Second
	coveredHosts    = 50
	coveredLimit    = 10 * coveredInterval // when the wait for coverage is given up
)

// What a comparison with the store alone shows.
const patrolCause = "most of it is the storing, as the column beside it shows: SQL through a database driver in Go, each result with its constraints. " +
	"Of the rest, half is waking and switching goroutines, one for each probe; the work of others on the machine (see the load average) makes both dearer."

// onPatrol measures the schedule and what it stores.
func onPatrol(ctx context.Context, l *lab) (section, error) {
	found := section{
		title: "Patrol",
		method: fmt.Sprintf("%d components every %v in a process of its own, on a SQLite file, for %v in each of %d rounds; the examiner is replaced by one that passes at once, "+
			"so that what is left is scheduling, batching and storing. Beside it stand a timer and the store alone: as many results at the same pace, in batches of the same %v. "+
			"Before that, every component has a result of half an interval ago, so that all are on their phases. "+
			"First coverage: from the start of a patrol until every one of %d components, never probed before, has a stored result; real probes of three gates "+
			"at stubs on %d ports of loopback, with the limits of a configuration that states none. Statuses: every component is read with `store.Database.Known` "+
			"(one statement for each 2,000) and its status computed; beside it, one by one.",
			fleetSize, fleetInterval, l.patrolFor, l.rounds, bareBatch, coveredSize, coveredHosts),
		ours: "`internal/patrol`", beside: "a timer and the store",
	}
	cost, err := l.patrolCost(ctx)
	if err != nil {
		return section{}, err
	}
	coverage, err := l.firstCoverage(ctx)
	if err != nil {
		return section{}, err
	}
	reading, err := l.readStatuses(ctx, fleetSize)
	if err != nil {
		return section{}, err
	}
	found.figures = append(cost, coverage, reading)
	return found, nil
}

// patrolCost measures processor time and lateness of a fleet on its phases.
func (l *lab) patrolCost(ctx context.Context) ([]figure, error) {
	share, slow := map[string]series{}, map[string]series{}
	for turn := range l.rounds {
		for _, side := range l.order(turn) {
			l.progress("patrol: round %d of %d, %s", turn+1, l.rounds, side)
			directory, err := l.fresh()
			if err != nil {
				return nil, err
			}
			seen, err := patrolElsewhere(ctx, patrolOrder{
				File: filepath.Join(directory, "tasks.db"), Bare: side == sideBare,
				Components: fleetSize, Interval: fleetInterval, For: l.patrolFor,
			})
			if err != nil {
				return nil, err
			}
			share[side] = append(share[side], 100*seen.Processor.Seconds()/l.patrolFor.Seconds())
			slow[side] = append(slow[side], percentile(seen.Late, 0.99))
		}
	}
	return []figure{
		{
			name: fmt.Sprintf("processor time, %d components every %v", fleetSize, fleetInterval), unit: " % of a core",
			ours: share[sideOurs], beside: share[sideBare], value: share[sideOurs], target: &target{atMost, 3, " % of a core"}, cause: patrolCause,
		},
		{
			name: "lateness of a start, p99", unit: " ms", ours: slow[sideOurs], beside: slow[sideBare],
			value: slow[sideOurs], target: &target{atMost, 50, " ms"}, cause: "the machine is shared; a bare timer beside it is late too.",
		},
	}, nil
}

// coverage is a store that notes of which components it has results.
type coverage struct {
	*store.Database

	mu      sync.Mutex
	missing map[string]bool
	covered chan struct{} // closed once none is missing
}

// Record implements patrol.Store.
func (c *coverage) Record(ctx context.Context, fence *int64, records []registry.Record) error {
	if err := c.Database.Record(ctx, fence, records); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.missing)
	for _, record := range records {
		delete(c.missing, record.Registration.Name)
	}
	if before > 0 && len(c.missing) == 0 {
		close(c.covered)
	}
	return nil
}

// firstCoverage measures how long it takes until all have a result.
func (l *lab) firstCoverage(ctx context.Context) (figure, error) {
	registered := &registry.Registered{}
	for host := range coveredHosts {
		server := newStub(registry.Modern, false)
		defer server.Close()
		for i := range coveredSize / coveredHosts {
			registered.Components = append(registered.Components, registry.Component{
				Name: fmt.Sprintf("component-%d-%d", host, i), Interval: coveredInterval,
				Spec: &registry.MCPServer{URL: server.URL, Profile: registry.ThreeGates},
			})
		}
	}
	var took series
	for turn := range l.rounds {
		l.progress("patrol: first coverage, round %d of %d", turn+1, l.rounds)
		seconds, err := l.coverOnce(ctx, registered)
		if err != nil {
			return figure{}, err
		}
		took = append(took, seconds/coveredInterval.Seconds())
	}
	return figure{
		name: fmt.Sprintf("first coverage of %d components every %v", coveredSize, coveredInterval), unit: " intervals", ours: took,
		value: took, target: &target{atMost, 1, " intervals"}, cause: "the servers that are probed run in the same process, on the same processors.",
	}, nil
}

func (l *lab) coverOnce(ctx context.Context, registered *registry.Registered) (seconds float64, err error) {
	directory, err := l.fresh()
	if err != nil {
		return 0, err
	}
	database, err := store.Open(ctx, filepath.Join(directory, "tasks.db"), store.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	into := &coverage{Database: database, missing: map[string]bool{}, covered: make(chan struct{})}
	for _, component := range registered.Components {
		into.missing[component.Name] = true
	}
	examiner := examine.New(examine.Options{Store: database, Now: time.Now, Version: "bench"})
	if err := examiner.Use(ctx, registered); err != nil {
		return 0, err
	}
	patrols := patrol.New(patrol.Options{Store: into, Examiner: examiner, Limits: usualLimits()})
	running, stop := context.WithTimeout(ctx, coveredLimit)
	defer stop()
	var group errgroup.Group
	began := time.Now()
	group.Go(func() error { return patrols.Run(running) })
	select {
	case <-into.covered:
		seconds = time.Since(began).Seconds()
	case <-running.Done():
		err = fmt.Errorf("after %v, %d components have no result: %w", coveredLimit, len(into.missing), running.Err())
	}
	stop()
	return seconds, errors.Join(err, group.Wait())
}

// readStatuses measures the reading of every status of a fleet at one moment.
func (l *lab) readStatuses(ctx context.Context, count int) (f figure, err error) {
	directory, err := l.fresh()
	if err != nil {
		return f, err
	}
	database, err := store.Open(ctx, filepath.Join(directory, "tasks.db"), store.Options{})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	of, err := newFleet(count, fleetInterval)
	if err != nil {
		return f, err
	}
	if err := of.launch(ctx, database, fleetInterval); err != nil {
		return f, err
	}
	took := map[string]series{}
	for turn := range l.rounds {
		l.progress("patrol: statuses, round %d of %d", turn+1, l.rounds)
		for _, side := range l.order(turn) {
			milliseconds, err := of.readAll(ctx, database, map[string]int{sideOurs: count, sideBare: 1}[side])
			if err != nil {
				return f, err
			}
			took[side] = append(took[side], milliseconds)
		}
	}
	return figure{
		name: fmt.Sprintf("every status of %d components", count), unit: " ms",
		ours: took[sideOurs], beside: took[sideBare], value: took[sideOurs].over(took[sideBare]),
	}, nil
}

// readAll computes every status, with so many components in one call of the
// store, and returns the milliseconds that it took.
func (f *fleet) readAll(ctx context.Context, database *store.Database, atOnce int) (float64, error) {
	names, began, read := f.names(), time.Now(), 0
	for from := 0; from < len(names); from += atOnce {
		known, err := database.Known(ctx, names[from:from+atOnce])
		if err != nil {
			return 0, err
		}
		for i := range known {
			reading := f.registered.Components[from+i].Read(known[i].Standing, began)
			if reading.Status == registry.Available {
				read++
			}
		}
	}
	if read != len(names) {
		return 0, fmt.Errorf("of %d components %d are available", len(names), read)
	}
	return float64(time.Since(began).Microseconds()) / 1e3, nil
}
