package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

const (
	// fewTasks is the size that the large file is compared with.
	fewTasks = 10_000
	// readsEachRound is how often each question is asked of each file in a round.
	readsEachRound = 500
)

// library is a filled file and the gate in front of it.
type library struct {
	database *store.Database
	gate     *task.Gate
	tasks    int
	filling  string
}

// question is one read, with arguments drawn at random for each time it is asked.
type question struct {
	name  string
	asked func(ctx context.Context, of *library) error
}

// readBoth compares reads of a large file with those of a small one.
func readBoth(ctx context.Context, l *lab) (found section, err error) {
	large, err := l.openFilled(ctx, l.tasks)
	if err != nil {
		return section{}, err
	}
	defer func() { err = errors.Join(err, large.database.Close()) }()
	small, err := l.openFilled(ctx, fewTasks)
	if err != nil {
		return section{}, err
	}
	defer func() { err = errors.Join(err, small.database.Close()) }()
	found = section{
		title: fmt.Sprintf("Reads: %d tasks beside %d", l.tasks, fewTasks),
		method: fmt.Sprintf("p99 in process, through the gate on SQLite, of %d reads in each of %d rounds with random tasks, agents and positions; both files are asked in turn. "+
			"A page has %d tasks and comes with the counts. The files are filled by the SQL in `bench/fill.sql` through every trigger, a batch in a transaction, without waiting for the disk (%s).",
			readsEachRound, l.rounds, task.DefaultPage, large.filling),
		ours: fmt.Sprintf("%d tasks", l.tasks), beside: fmt.Sprintf("%d tasks", fewTasks),
	}
	for _, q := range questions() {
		l.progress("reads: %s", q.name)
		measured, err := l.ask(ctx, q, large, small)
		if err != nil {
			return section{}, fmt.Errorf("%s: %w", q.name, err)
		}
		found.figures = append(found.figures, measured)
	}
	return found, nil
}

func (l *lab) ask(ctx context.Context, q question, large, small *library) (figure, error) {
	f := figure{name: q.name + ", p99", unit: " ms", target: &target{atMost, 2, "x"}}
	for range l.rounds {
		took := map[*library][]float64{}
		for range readsEachRound {
			for _, of := range []*library{large, small} {
				began := time.Now()
				if err := q.asked(ctx, of); err != nil {
					return f, err
				}
				took[of] = append(took[of], float64(time.Since(began).Nanoseconds())/1e6)
			}
		}
		for _, times := range took {
			slices.Sort(times)
		}
		f.ours = append(f.ours, percentile(took[large], 0.99))
		f.beside = append(f.beside, percentile(took[small], 0.99))
	}
	f.value = f.ours.over(f.beside)
	return f, nil
}

func (l *lab) openFilled(ctx context.Context, count int) (*library, error) {
	directory, err := l.fresh()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(directory, "tasks.db")
	if err := migrate(ctx, file); err != nil {
		return nil, err
	}
	l.progress("reads: fill a file with %d tasks", count)
	began := time.Now()
	if err := fill(ctx, file, count); err != nil {
		return nil, err
	}
	filling := fmt.Sprintf("%d tasks in %.0f s", count, time.Since(began).Seconds())
	database, err := store.Open(ctx, file, store.Options{})
	if err != nil {
		return nil, err
	}
	return &library{database: database, gate: task.NewGate(database, time.Now), tasks: count, filling: filling}, nil
}

// anyTask draws a task of the file.
func (of *library) anyTask() task.ID { return filledID(1 + rand.IntN(of.tasks)) }

// page asks for a page and wants it to hold at least so many tasks.
func page(ctx context.Context, of *library, query task.Query, atLeast int) error {
	got, err := of.gate.List(ctx, query)
	if err == nil && len(got.Tasks) < atLeast {
		err = fmt.Errorf("the page holds %d tasks, not %d", len(got.Tasks), atLeast)
	}
	return err
}

// agent names one of the fifty that fill.sql gives a part.
func agent(part string) *string {
	name := fmt.Sprintf("%s-%d", part, rand.IntN(50))
	return &name
}

func questions() []question {
	whole := task.DefaultPage
	byStatus := func(status task.Status) func(context.Context, *library) error {
		return func(ctx context.Context, of *library) error {
			return page(ctx, of, task.Query{Status: new(string(status))}, whole)
		}
	}
	return []question{
		{name: "`get_task`", asked: func(ctx context.Context, of *library) error {
			_, err := of.gate.Task(ctx, string(of.anyTask()))
			return err
		}},
		{name: "`list_tasks`", asked: func(ctx context.Context, of *library) error {
			return page(ctx, of, task.Query{}, whole)
		}},
		{name: "`list_tasks`, a page from the middle", asked: func(ctx context.Context, of *library) error {
			if _, _, err := of.database.List(ctx, task.Filter{Before: of.anyTask(), Limit: whole}); err != nil {
				return err
			}
			_, err := of.database.Counts(ctx, task.MaxCount)
			return err
		}},
		{name: "`list_tasks`, `status` pending", asked: byStatus(task.Pending)},
		{name: "`list_tasks`, `status` verified", asked: byStatus(task.Verified)},
		{name: "`list_tasks`, `created_by`", asked: func(ctx context.Context, of *library) error {
			return page(ctx, of, task.Query{CreatedBy: agent("creator")}, whole)
		}},
		{name: "`list_tasks`, `claimed_by`", asked: func(ctx context.Context, of *library) error {
			return page(ctx, of, task.Query{ClaimedBy: agent("prover")}, whole)
		}},
		{name: "`list_tasks`, `verifiable_by`", asked: func(ctx context.Context, of *library) error {
			return page(ctx, of, task.Query{VerifiableBy: agent("verifier")}, whole)
		}},
		{name: "`list_tasks`, `supersedes`", asked: func(ctx context.Context, of *library) error {
			return page(ctx, of, task.Query{Supersedes: new(string(of.anyRejected()))}, 1)
		}},
		{name: "`list_tasks`, `verifiable_by` the one that claimed the newest tenth", asked: func(ctx context.Context, of *library) error {
			return page(ctx, of, task.Query{VerifiableBy: new("prover-busy")}, 0) // it may look at no other's
		}},
		{name: "`list_tasks`, `created_by` and `claimed_by`", asked: func(ctx context.Context, of *library) error {
			return page(ctx, of, task.Query{CreatedBy: agent("creator"), ClaimedBy: new("prover-busy")}, 0)
		}},
		{name: "`list_tasks`, two filters of which no task meets both", asked: func(ctx context.Context, of *library) error {
			return page(ctx, of, task.Query{Status: new(string(task.Verified)), CreatedBy: new("creator-3")}, 0)
		}},
	}
}

// anyRejected draws a rejected task that has a successor.
func (of *library) anyRejected() task.ID {
	tens := (of.tasks - fillBatch) / 10
	return filledID(10*rand.IntN(tens-1) + 3)
}
