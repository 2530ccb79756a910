package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

const (
	// watchedComponent has as many results as a page shows, and more.
	watchedComponent = "component-00042"
	watchedResults   = 100
	// seldom is the interval of components whose patrol must not be measured.
	seldom = 24 * time.Hour
	// maxRuns is how many runs and slots a configuration may have.
	maxRuns = 1000
	// countTime is how long a server may take to count what was there before it.
	countTime = 10 * time.Minute
)

// served is a server on a filled database, and a listener to its events.
type served struct {
	process *exec.Cmd
	url     string
	client  *http.Client
	told    chan string // ids of tasks, as events tell of them
	leave   context.CancelFunc
	left    chan struct{}
}

// serveFilled fills a database and starts a server on it. It has counted and shown
// everything once when this returns.
func (l *lab) serveFilled(ctx context.Context, much amounts) (*served, error) {
	directory, err := l.fresh()
	if err != nil {
		return nil, err
	}
	l.progress("pages: fill a file with %s", much)
	file := filepath.Join(directory, "tasks.db")
	if err := fillAll(ctx, file, much); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(directory, "countersign.yaml"), []byte(fleetFile(much.components)), 0o600); err != nil {
		return nil, err
	}
	s := &served{client: &http.Client{}, told: make(chan string, 1024), left: make(chan struct{})}
	s.process = exec.CommandContext(ctx, l.binary, "serve", "--db", file, "--listen", "127.0.0.1:0", "--log-level", "error")
	s.process.Dir = directory
	printed, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	if err := s.ready(ctx, bufio.NewScanner(printed), much); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// fillAll fills a database with tasks, components and their results.
func fillAll(ctx context.Context, file string, much amounts) (err error) {
	if err := migrate(ctx, file); err != nil {
		return err
	}
	if err := fill(ctx, file, much.tasks); err != nil {
		return err
	}
	database, err := store.Open(ctx, file, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	of, err := newFleet(much.components, seldom)
	if err != nil {
		return err
	}
	if err := of.launch(ctx, database, seldom); err != nil {
		return err
	}
	for i := range watchedResults {
		record, err := of.record(watchedComponent, time.Now().Add(time.Duration(i-watchedResults)*time.Minute))
		if err != nil {
			return err
		}
		if err := database.Record(ctx, nil, []registry.Record{record}); err != nil {
			return err
		}
	}
	return nil
}

// fleetFile is the configuration of a fleet, with a slot and a run for each of its
// components, as many as there may be.
func fleetFile(components int) string {
	var file, slots, runs strings.Builder
	for i := range components {
		fmt.Fprintf(&file, "  component-%05d: {kind: mcp_server, url: \"http://host-%05d.example\", interval: 24h}\n", i, i)
		if i < maxRuns {
			fmt.Fprintf(&slots, "  slot-%04d: {primary: component-%05d}\n", i, i)
			fmt.Fprintf(&runs, "  run-%04d: {slots: {slot-%04d: required}}\n", i, i)
		}
	}
	return fmt.Sprintf("components:\n%sslots:\n%sruns:\n%s", &file, &slots, &runs)
}

var servedURL = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/mcp\b`)

// ready waits until the server serves, has counted every task, and is listened to.
func (s *served) ready(ctx context.Context, printed *bufio.Scanner, much amounts) error {
	for s.url == "" && printed.Scan() {
		if at := servedURL.FindStringSubmatch(printed.Text()); at != nil {
			s.url = at[1]
		}
	}
	if s.url == "" {
		return fmt.Errorf("the server said no address: %w", printed.Err())
	}
	go func() {
		for printed.Scan() { // so that the server is never kept from printing
		}
	}()
	for deadline := time.Now().Add(countTime); ; {
		counted, err := s.counted(ctx)
		if err != nil || counted >= much.tasks {
			return errors.Join(err, s.listen(ctx))
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server has counted %d of %d tasks in %v", counted, much.tasks, countTime)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(sampleEvery):
		}
	}
}

// counted is how many created tasks the roll-up knows of.
func (s *served) counted(ctx context.Context) (int, error) {
	var page struct {
		Agents []struct{ Created int }
	}
	if err := s.read(ctx, "/api/v1/agents?limit=100", &page); err != nil {
		return 0, err
	}
	sum := 0
	for _, each := range page.Agents { // those that create come first by name
		sum += each.Created
	}
	return sum, nil
}

func (s *served) read(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	return errors.Join(json.NewDecoder(answer.Body).Decode(into), answer.Body.Close())
}

// listen begins to listen to the events of the server.
func (s *served) listen(ctx context.Context) error {
	ctx, s.leave = context.WithCancel(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1/events", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request) //nolint:bodyclose // the listener closes it
	if err != nil {
		return err
	}
	go func() {
		defer close(s.left)
		defer answer.Body.Close()
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			var event struct {
				ID string `json:"task_id"`
			}
			given, isData := strings.CutPrefix(lines.Text(), "data: ")
			if !isData || json.Unmarshal([]byte(given), &event) != nil || event.ID == "" {
				continue
			}
			select {
			case s.told <- event.ID:
			case <-ctx.Done():
				return
			}
		}
	}()
	return nil
}

// tells creates a task, and returns how long after the answer the event came.
func (s *served) tells(ctx context.Context) (time.Duration, error) {
	const made = `{"title":"Answer GET /healthz","acceptance_criteria":["GET /healthz returns 200"],"created_by":"creator-0"}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/api/v1/tasks", bytes.NewReader([]byte(made)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	var created struct {
		ID string `json:"task_id"`
	}
	if err := errors.Join(json.NewDecoder(answer.Body).Decode(&created), answer.Body.Close()); err != nil {
		return 0, err
	}
	for {
		select {
		case id := <-s.told:
			if id == created.ID {
				return time.Since(began), nil
			}
		case <-s.left:
			return 0, errors.New("the stream of events ended")
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// stop ends the listener and the server.
func (s *served) stop() error {
	if s.leave != nil {
		s.leave()
		<-s.left
	}
	err := s.process.Process.Signal(os.Interrupt)
	return errors.Join(err, s.process.Wait())
}
