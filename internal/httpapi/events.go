package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/schema"
	"github.com/countersign-dev/countersign/internal/task"
)

const (
	typeEvents = "text/event-stream"

	// tickTime is how often a stream says that time has passed, whatever else it
	// tells: ages grow, and a status depends on the clock.
	tickTime = 30 * time.Second
	// beatTime is how long a stream is silent at most: who hears nothing for much
	// longer is connected to nobody. It costs a few bytes, and asks nobody.
	beatTime = 5 * time.Second
	// retryTime is how long a client that lost the stream waits before it comes again.
	retryTime = 2 * time.Second
)

// What an event says, by its kind.
type (
	taskEvent struct {
		TaskID task.ID     `json:"task_id"`
		Status task.Status `json:"status"`
		At     task.Time   `json:"at"`
	}
	componentEvent struct {
		Component string          `json:"component"`
		Status    registry.Status `json:"status"`
		At        task.Time       `json:"at"`
	}
	runEvent struct {
		Run     string    `json:"run"`
		Outcome string    `json:"outcome"`
		At      task.Time `json:"at"`
	}
)

// eventRoute is the route of what happens. Its streams end when
// ending is closed.
func (a API) eventRoute(ending <-chan struct{}) route {
	operation := schema.StreamEvents(feed.Kinds()).Called("streamEvents")
	parameters := append(parametersOf(operation, nil, true), parameter{
		Name: "Last-Event-ID", In: "header", Schema: text(), Description: "Id of the event after which to go on; it overrules after.",
	})
	return route{
		about: about{
			id: operation.Name, tag: "events", summary: "Follow what happens",
			description: "Server-sent events. Each says only where to look: the event task has a TaskEvent as its data, component a ComponentEvent, run a RunEvent. " +
				"ready comes first and says where the stream stands, reset that events are missing, so that all has to be read anew, tick, every 30 seconds whatever else is told, that time has passed, by which a status may have become unknown, and beat, after 5 seconds in which nothing else was told, that the server is there; the data of these four is {}. " +
				"The id of the last event, which may be that of ready, resumes the stream without a gap.",
		},
		method: http.MethodGet, path: "/events", group: streams, status: http.StatusOK, parameters: parameters,
		stream: func(w http.ResponseWriter, r *http.Request) error {
			query, err := operation.DecodeURL(nil, r.URL.RawQuery)
			if err != nil {
				return err
			}
			return a.follow(ending, w, r, query)
		},
	}
}

// follow serves one stream until its client leaves or does not read, or the server
// ends.
func (a API) follow(ending <-chan struct{}, w http.ResponseWriter, r *http.Request, query schema.EventsQuery) error {
	wanted, err := schema.SubjectOf(query, feed.Kinds())
	if err != nil {
		return err
	}
	after, err := resumed(r, query.After)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		asStream(w.Header())
		return nil
	}
	subscription, err := a.Feed.Subscribe(after)
	if err != nil {
		return err
	}
	defer subscription.Close()
	ctx, cancel := context.WithCancel(r.Context())
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-ending:
			cancel()
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer cancel()
	asStream(w.Header())
	out := &stream{w: w, wanted: wanted, tick: cmp.Or(a.Tick, tickTime)}
	if out.send(fmt.Appendf(nil, ": what happens in Countersign\nretry: %d\n\n", retryTime.Milliseconds())) == nil {
		out.run(ctx, subscription)
	}
	return nil
}

// asStream are the headers of a stream: nobody on the way keeps or delays it.
func asStream(header http.Header) {
	header.Set("Content-Type", typeEvents)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
}

// resumed is the position after which a client goes on; nil for what happens from
// now on. Fault: InvalidArgument.
func resumed(r *http.Request, after *string) (*feed.Position, error) {
	name, text := "Last-Event-ID", r.Header.Get("Last-Event-ID")
	if text == "" {
		if after == nil {
			return nil, nil
		}
		name, text = "after", *after
	}
	position, err := feed.ParsePosition(text)
	if err != nil {
		return nil, task.InvalidArgument(name, "is not the id of an event").
			WithHint("Give the id of the last event exactly as it came, or leave it out.")
	}
	return &position, nil
}

// stream is what one client is told.
type stream struct {
	w      http.ResponseWriter
	wanted schema.Subject[feed.Kind]
	tick   time.Duration
	begun  bool // the client was told where it stands
}

// run tells a client where it stands, and of what happens until ctx ends, the feed
// does, or the client does not read, every tick that one is over, and that it is
// there after each beatTime in which it told nothing.
func (s *stream) run(ctx context.Context, of *feed.Subscription) {
	due, told := time.Now().Add(s.tick), time.Now()
	for {
		until := due
		if beat := told.Add(beatTime); beat.Before(due) {
			until = beat
		}
		waiting, cancel := context.WithDeadline(ctx, until)
		out, err := s.next(waiting, of)
		cancel()
		if ctx.Err() != nil || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return // the client comes again, and is told then
		}
		now := time.Now()
		switch {
		case !now.Before(due):
			due = now.Add(s.tick)
			out = append(out, s.says("tick", of)...)
		case len(out) == 0 && !now.Before(until):
			out = s.says("beat", of)
		}
		if len(out) == 0 {
			continue
		}
		if s.send(out) != nil {
			return
		}
		told = now
	}
}

// next waits for what is to be told next, which may be nothing.
func (s *stream) next(ctx context.Context, of *feed.Subscription) ([]byte, error) {
	if !s.begun {
		if _, err := of.Begin(ctx); err != nil {
			return nil, err
		}
		s.begun = true
		return s.says("ready", of), nil
	}
	events, reset, err := of.Next(ctx)
	if reset && err == nil {
		return s.says("reset", of), nil
	}
	return s.pick(events), err
}

// says writes an event that is about the stream itself. It has data, without which
// some clients do not keep the id, and an id as soon as there is one, so that who
// resumes does not go over what is not wanted again.
func (s *stream) says(event string, of *feed.Subscription) []byte {
	var id string
	if s.begun {
		id = fmt.Sprintf("id: %s\n", of.Position())
	}
	return fmt.Appendf(nil, "%sevent: %s\ndata: {}\n\n", id, event)
}

// pick writes those events that are wanted.
func (s *stream) pick(events []feed.Event) []byte {
	var out bytes.Buffer
	for i := range events {
		event := &events[i]
		if !s.wants(event) {
			continue
		}
		said, err := json.Marshal(saidOf(event))
		if err != nil {
			continue // it cannot be: all are texts
		}
		fmt.Fprintf(&out, "id: %s\nevent: %s\ndata: %s\n\n", event.ID, event.Kind, said)
	}
	return out.Bytes()
}

// wants reports whether a client asked for an event: any of the kind that it
// names, if it names one, and of what it names, if anything.
func (s *stream) wants(event *feed.Event) bool {
	if s.wanted.Kind != "" && s.wanted.Kind != event.Kind {
		return false
	}
	if s.wanted.Component == "" && s.wanted.TaskID == "" && s.wanted.Run == "" {
		return true
	}
	switch event.Kind {
	case feed.Task:
		return event.Subject == string(s.wanted.TaskID)
	case feed.Component:
		return event.Subject == s.wanted.Component
	case feed.Run:
		return event.Subject == s.wanted.Run
	}
	return false
}

// saidOf is the data of an event.
func saidOf(event *feed.Event) any {
	at := task.At(event.At)
	switch event.Kind {
	case feed.Component:
		return componentEvent{event.Subject, registry.Status(event.What), at}
	case feed.Run:
		return runEvent{event.Subject, event.What, at}
	case feed.Task:
	}
	return taskEvent{task.ID(event.Subject), task.Status(event.What), at}
}

// send writes at once. It fails when the client does not read.
func (s *stream) send(text []byte) error {
	if _, err := s.w.Write(text); err != nil { //nolint:gosec // G705: text/event-stream, which no browser shows as a page; every value in it is encoded as JSON
		return err
	}
	return http.NewResponseController(s.w).Flush()
}
