package httpapi

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/gates"
	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
	"github.com/countersign-dev/countersign/internal/task"
)

// fleet is a server with the API on a real database, with real servers to probe.
type fleet struct {
	*running

	database *store.Database
	examiner *examiner.Examiner
	follower *feed.Follower
	asleep   atomic.Pointer[chan struct{}] // what the component slow waits for before it answers
	probed   chan struct{}                 // takes a token when the component slow is asked
}

// startFleet starts a server whose options may be adjusted.
func startFleet(t *testing.T, adjust func(*Options)) *fleet {
	t.Helper()
	database, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	f := &fleet{database: database, probed: make(chan struct{}, 2*maxProbes)}
	f.examiner = examiner.New(examiner.Options{Store: database, Now: time.Now, Version: "1.2.3", Key: func() (ed25519.PrivateKey, error) {
		return ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize))), nil
	}})
	if err := f.examiner.Use(t.Context(), f.registered(t)); err != nil {
		t.Fatal(err)
	}
	f.follower = feed.NewFollower(feed.Options{Store: database, Now: time.Now})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.follower.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	server := plain()
	server.options.API = &API{
		Version: "1.2.3", Tasks: task.NewGate(database, time.Now), Agents: task.NewOverview(database),
		Components: f.examiner, Runs: f.examiner, Feed: f.follower, Log: discarding(),
	}
	adjust(&server.options)
	f.running = start(t, server)
	return f
}

// registered is what the examiner of a fleet knows.
func (f *fleet) registered(t *testing.T) *registry.Registered {
	t.Helper()
	component := func(name, url string) registry.Component {
		return registry.Component{Name: name, Timeout: patience, Spec: &registry.MCPServer{URL: url, Profile: registry.ThreeGates}}
	}
	broken := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(broken.Close)
	return &registry.Registered{
		Components: []registry.Component{
			component("docs", f.double(t, func() {})), component("broken", broken.URL),
			component("slow", f.double(t, func() {
				f.probed <- struct{}{}
				if asleep := f.asleep.Load(); asleep != nil {
					<-*asleep
				}
			})),
		},
		Slots: []registry.Slot{{Name: "reader", Primary: "broken", Fallbacks: []string{"docs"}}, {Name: "writer", Primary: "broken"}},
		Runs: []registry.Run{
			{Name: "nightly", Slots: []registry.RunSlot{{Slot: "reader", Required: true}, {Slot: "writer"}}},
			{Name: "weekly", Slots: []registry.RunSlot{{Slot: "writer", Required: true}}},
		},
	}
}

// double starts a server under the three gates that calls before each answer of
// its /healthz.
func (f *fleet) double(t *testing.T, before func()) (url string) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "double", Version: "1.2.0"}, nil)
	server.AddTool(&mcp.Tool{Name: "look_up", Description: "Looks something up.", InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	mux, outer := http.NewServeMux(), http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	gates.Mount(mux, gates.Options{
		Service: "double", Version: "1.2.0",
		Dependencies: []gates.Dependency{gates.Required("index", gates.Func(func(context.Context) error { return nil }))},
	})
	outer.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) {
		before()
		mux.ServeHTTP(w, r)
	})
	outer.Handle("/", mux)
	listening := httptest.NewServer(outer)
	t.Cleanup(listening.Close)
	return listening.URL
}

// asking is a request to the API.
type asking struct {
	operation, method, path, body string
}

// ask sends a request to the API.
func (f *fleet) ask(t *testing.T, a asking) (reply, string) {
	t.Helper()
	header := http.Header{}
	if a.body != "" {
		header.Set("Content-Type", typeJSON)
	}
	return f.do(t, a.method, pathV1+a.path, header, a.body)
}

// create makes a task and returns its id.
func (f *fleet) create(t *testing.T, title string) string {
	t.Helper()
	answer, body := f.ask(t, asking{
		method: http.MethodPost, path: "/tasks", body: `{"title":"` + title + `","acceptance_criteria":["it holds"],"created_by":"lead"}`,
	})
	var created struct {
		TaskID string `json:"task_id"`
	}
	if err := json.Unmarshal([]byte(body), &created); err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("creating %s = %d %s", title, answer.StatusCode, body)
	}
	return created.TaskID
}

// counts rolls up everything that happened.
func (f *fleet) counts(t *testing.T) {
	t.Helper()
	for {
		more, err := f.database.RollUp(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}
