package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/store"
)

// hammer lets many processes write to one SQLite file as fast as they can: once
// queued by internal/store, once with nothing but busy_timeout.
func hammer(ctx context.Context, l *lab) (section, error) {
	var ours, bare []crowd
	for round := range l.hammering {
		for _, side := range l.order(round) {
			l.progress("hammer: round %d of %d, %s", round+1, l.hammering, side)
			seen, err := l.hammerOnce(ctx, side == sideBare)
			if err != nil {
				return section{}, err
			}
			if side == sideBare {
				bare = append(bare, seen)
			} else {
				ours = append(ours, seen)
			}
		}
	}
	found := section{
		title: fmt.Sprintf("%d processes on one SQLite file", l.processes),
		method: fmt.Sprintf("%d processes, each with its own agents, make task after task (create, claim, verify) for %v without a pause, in %d rounds. "+
			"Beside `internal/store` stand the same statements in the same immediate transactions on the same schema and pragmas, with `busy_timeout=5000` and no queue. "+
			"A transition counts when it was answered before the end; a wait is one call, whatever came of it. Each round has new files.", l.processes, l.hammerFor, l.hammering),
		ours: "`internal/store`", beside: "`busy_timeout` alone",
		figures: hammerFigures(ours, bare),
	}
	for _, one := range slices.Concat(ours, bare) {
		if one.firstError != "" {
			found.method += fmt.Sprintf(" The first lock error: `%s`.", one.firstError)
			break
		}
	}
	return found, nil
}

func hammerFigures(ours, bare []crowd) []figure {
	pick := func(of func(crowd) float64) figure {
		f := figure{}
		for i := range ours {
			f.ours = append(f.ours, of(ours[i]))
			f.beside = append(f.beside, of(bare[i]))
		}
		return f
	}
	named := func(name string, f figure) figure {
		f.name = name
		return f
	}
	ratio := func(name, unit string, of func(crowd) float64, want *target) figure {
		f := named(name, pick(of))
		f.unit, f.target = unit, want
		f.value = f.ours.over(f.beside)
		return f
	}
	absolute := func(name string, of func(crowd) float64, want target) figure {
		f := named(name, pick(of))
		f.value, f.target = f.ours, &want
		return f
	}
	longest := ratio("longest wait", " ms", func(c crowd) float64 { return percentile(c.waits, 1) }, &target{atMost, 0.1, "x"})
	longest.cause = "every turn is handed to one certain process, which has to get a processor first; work of others on the machine " +
		"(see the load average) is added to every turn, while without a queue whoever runs at that moment goes on."
	rate := ratio("transitions per second", "", func(c crowd) float64 { return c.rate }, &target{atLeast, 0.5, "x"})
	rate.cause = longest.cause
	return []figure{
		absolute("lock errors that reached a caller", func(c crowd) float64 { return float64(c.lockErrors) }, target{atMost, 0, ""}),
		absolute("Jain fairness of transitions for each process", crowd.fairness, target{atLeast, 0.95, ""}),
		longest,
		rate,
		ratio("wait, p50", " ms", func(c crowd) float64 { return percentile(c.waits, 0.5) }, nil),
		ratio("wait, p99", " ms", func(c crowd) float64 { return percentile(c.waits, 0.99) }, nil),
		named("transitions of the process with fewest", pick(func(c crowd) float64 { return slices.Min(c.shares) })),
		named("transitions of the process with most", pick(func(c crowd) float64 { return slices.Max(c.shares) })),
	}
}

// crowd is what all processes of one round have seen together.
type crowd struct {
	rate       float64   // transitions per second
	shares     []float64 // transitions of each process
	waits      []float64 // milliseconds, sorted
	lockErrors int
	firstError string
}

func (c crowd) fairness() float64 { return jain(c.shares) }

// hammerOnce runs one round of one side on a new file.
func (l *lab) hammerOnce(ctx context.Context, bare bool) (crowd, error) {
	directory, err := l.fresh()
	if err != nil {
		return crowd{}, err
	}
	file := filepath.Join(directory, "tasks.db")
	if err := migrate(ctx, file); err != nil {
		return crowd{}, err
	}
	workers := make([]*worker, 0, l.processes)
	defer func() {
		for _, w := range workers {
			w.stop()
		}
	}()
	for number := range l.processes {
		w, err := hire(ctx, order{File: file, Bare: bare, Number: number, For: l.hammerFor})
		if err != nil {
			return crowd{}, err
		}
		workers = append(workers, w)
	}
	tallies, err := runAll(workers)
	if err != nil {
		return crowd{}, err
	}
	return together(tallies, l.hammerFor.Seconds()), nil
}

// runAll starts the workers together, once all are ready, and waits for them.
func runAll(workers []*worker) ([]tally, error) {
	for _, w := range workers {
		if err := w.ready(); err != nil {
			return nil, err
		}
	}
	tallies := make([]tally, len(workers))
	var group errgroup.Group
	for i, w := range workers {
		if err := w.start(); err != nil {
			return nil, err
		}
		group.Go(func() error {
			var err error
			tallies[i], err = w.result()
			return err
		})
	}
	return tallies, group.Wait()
}

func together(tallies []tally, seconds float64) crowd {
	var all crowd
	for _, one := range tallies {
		all.rate += float64(one.Transitions) / seconds
		all.shares = append(all.shares, float64(one.Transitions))
		all.waits = append(all.waits, one.Waits...)
		all.lockErrors += one.LockErrors
		if all.firstError == "" {
			all.firstError = one.FirstError
		}
	}
	slices.Sort(all.waits)
	return all
}

// migrate makes a database with the schema and leaves it.
func migrate(ctx context.Context, location string) error {
	database, err := store.Open(ctx, location, store.Options{})
	if err != nil {
		return err
	}
	return database.Close()
}
