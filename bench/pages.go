package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

const (
	// fewOfAll is so much that pages are whole, and no more.
	fewOfAll = 100
	// atRandom is over how long the moments of events are spread: longer than the
	// feed waits until it looks for what is new.
	atRandom = 500 * time.Millisecond
)

// amounts is how much there is behind the pages of a server.
type amounts struct{ tasks, components int }

func (a amounts) String() string {
	return fmt.Sprintf("%d tasks, %d components", a.tasks, a.components)
}

// address is something that people and programs ask for.
type address struct {
	path  string
	extra bool // the larger server has more to tell there, so that no target speaks of it
}

func addresses() []address {
	of := []string{
		"/", "/components", "/components?status=available", "/components?search=component-0004", "/components/" + watchedComponent, "/runs", "/runs/run-0042",
		"/tasks", "/tasks?status=pending", "/tasks?status=verified", "/tasks?status=verified&order=newest",
		"/tasks/" + string(filledID(53)), "/agents?order=name", "/agents/verifier-3", "/connect",
		"/api/v1/tasks", "/api/v1/tasks?limit=100", "/api/v1/tasks?status=claimed&order=oldest",
		"/api/v1/tasks?verifiable_by=prover-busy", "/api/v1/tasks?created_by=creator-3&claimed_by=prover-busy",
		"/api/v1/tasks?status=claimed&order=oldest&claimed_by=prover-3", "/api/v1/tasks/" + string(filledID(53)),
		"/api/v1/components", "/api/v1/components?limit=100&status=available", "/api/v1/components/" + watchedComponent,
		"/api/v1/components/" + watchedComponent + "/results", "/api/v1/slots", "/api/v1/runs", "/api/v1/runs/run-0042", "/api/v1/runs/run-0042/preflights",
		"/api/v1/agents", "/api/v1/agents?order=verdicts", "/api/v1/agents/verifier-3",
	}
	made := []address{{"/metrics", true}, {"/agents", true}}
	for _, path := range of {
		made = append(made, address{path, false})
	}
	return made
}

// pagesOf compares the pages and lists of a server on much with those of one on
// little.
func pagesOf(much, little amounts) func(context.Context, *lab) (section, error) {
	return func(ctx context.Context, l *lab) (section, error) { return l.comparePages(ctx, much, little) }
}

func (l *lab) comparePages(ctx context.Context, much, little amounts) (found section, err error) {
	large, err := l.serveFilled(ctx, much)
	if err != nil {
		return section{}, err
	}
	defer func() { err = errors.Join(err, large.stop()) }()
	small, err := l.serveFilled(ctx, little)
	if err != nil {
		return section{}, err
	}
	defer func() { err = errors.Join(err, small.stop()) }()
	found = section{
		title: fmt.Sprintf("Pages and lists: %s beside %s", much, little),
		method: fmt.Sprintf("`countersign serve` on SQLite, asked over HTTP on one connection. Each value is the median of %d answers, of %d rounds; both servers are asked in turn. "+
			"There are as many runs and slots as components, at most 1000. `/metrics` tells of each component, and `/agents` of each verifier, of whom 100 tasks have 11 and more have 50. Of the feed: from the answer to the creation of a task to the event that tells it to a listener, at random moments, %d in each round.",
			l.asks, l.rounds, l.events),
		ours: much.String(), beside: little.String(),
	}
	for _, each := range addresses() {
		l.progress("pages: %s", each.path)
		measured, err := l.askPages(ctx, each, large, small)
		if err != nil {
			return section{}, err
		}
		found.figures = append(found.figures, measured)
	}
	told, err := l.hearEvents(ctx, large, small)
	if err != nil {
		return section{}, err
	}
	found.figures = append(found.figures, told)
	return found, nil
}

// askPages asks both servers for an address.
func (l *lab) askPages(ctx context.Context, at address, large, small *served) (figure, error) {
	f := figure{name: "`" + at.path + "`", unit: " ms", target: &target{atMost, 2, "x"}}
	switch {
	case at.extra:
		f.target = nil
	case at.path == "/tasks":
		f.cause = "of few tasks fewer are claimed than a page shows; most of the time is that of writing their rows."
	}
	for round := range l.rounds {
		took := map[*served]series{}
		for range l.asks {
			for _, of := range inTurn(round, large, small) {
				began := time.Now()
				if err := of.get(ctx, at.path); err != nil {
					return f, err
				}
				took[of] = append(took[of], float64(time.Since(began).Nanoseconds())/1e6)
			}
		}
		f.ours, f.beside = append(f.ours, took[large].median()), append(f.beside, took[small].median())
	}
	f.value = f.ours.over(f.beside)
	return f, nil
}

// inTurn alternates who comes first.
func inTurn(round int, large, small *served) []*served {
	both := []*served{large, small}
	if round%2 == 1 {
		slices.Reverse(both)
	}
	return both
}

// get reads an address whole, and wants it to be there.
func (s *served) get(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	read, err := io.Copy(io.Discard, answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK || read == 0 {
		return fmt.Errorf("%s answers %s with %d bytes", path, answer.Status, read)
	}
	return nil
}

// hearEvents has tasks created on both servers, and waits for what is told of them.
func (l *lab) hearEvents(ctx context.Context, large, small *served) (figure, error) {
	f := figure{name: "from a commit to its event", unit: " ms", target: &target{atMost, 2, "x"}}
	for round := range l.rounds {
		took := map[*served]series{}
		for range l.events {
			for _, of := range inTurn(round, large, small) {
				select {
				case <-ctx.Done():
					return f, ctx.Err()
				case <-time.After(rand.N(atRandom)): // else each would come right after a look
				}
				waited, err := of.tells(ctx)
				if err != nil {
					return f, err
				}
				took[of] = append(took[of], float64(waited.Microseconds())/1000)
			}
		}
		f.ours, f.beside = append(f.ours, took[large].median()), append(f.beside, took[small].median())
	}
	f.value = f.ours.over(f.beside)
	return f, nil
}
