//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// patrols is what the log of a server says when it begins to patrol.
const patrols = "this process patrols now"

// probedServer counts how often each component below it is probed. It passes no
// gate, and keeps one probe waiting when it is told to.
type probedServer struct {
	url string

	mu     sync.Mutex
	asked  map[string]int
	hold   bool          // the next probe waits
	held   chan struct{} // closed when it does
	letGo  chan struct{} // closed when it need not wait any more
	waited chan struct{} // closed when it has been answered, or its prober is gone
}

func newProbedServer(t *testing.T) *probedServer {
	t.Helper()
	s := &probedServer{asked: map[string]int{}, held: make(chan struct{}), letGo: make(chan struct{}), waited: make(chan struct{})}
	listening := httptest.NewServer(s)
	t.Cleanup(listening.Close)
	s.url = listening.URL
	return s
}

func (s *probedServer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	component, gate, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	if gate == "healthz" {
		s.mu.Lock()
		s.asked[component]++
		waits := s.hold
		s.hold = false
		s.mu.Unlock()
		if waits {
			close(s.held)
			defer close(s.waited)
			<-s.letGo
		}
	}
	w.WriteHeader(http.StatusServiceUnavailable)
}

func (s *probedServer) probes(component string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[component]
}

// holdNext has the next probe wait, and returns when it does.
func (s *probedServer) holdNext() {
	s.mu.Lock()
	s.hold = true
	s.mu.Unlock()
	<-s.held
}

// shared is a database with the servers on it.
type shared struct {
	*probedServer

	folder, location string
	env              []string
	database         *store.Database
}

func newShared(t *testing.T, location string, interval time.Duration, components ...string) *shared {
	t.Helper()
	database, err := store.Open(t.Context(), location, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	s := &shared{newProbedServer(t), t.TempDir(), location, environment(t), database}
	text := "components:\n"
	for _, name := range components {
		text += fmt.Sprintf("  %s: {kind: mcp_server, url: '%s/%s', interval: %v, ttl: 10m, timeout: 2m}\n", name, s.url, name, interval)
	}
	configure(t, s.folder, text)
	return s
}

func (s *shared) serve(t *testing.T) *process {
	t.Helper()
	return start(t, s.folder, s.env, binary(), "serve", "--db", s.location, "--listen", "127.0.0.1:0")
}

// results are those on record of a component, the newest first.
func (s *shared) results(t *testing.T, component string) []registry.Kept {
	t.Helper()
	results, err := s.database.Results(t.Context(), component, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// TestServe_probesNothingTwiceWithAnother lets two servers share a database, and
// kills the one that patrols. Nothing is probed by both, before or after that.
func TestServe_probesNothingTwiceWithAnother(t *testing.T) {
	t.Parallel()
	const interval, rounds = 4 * time.Second, 4
	components := []string{"one", "two", "three"}
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShared(t, open(t), interval, components...)
			first := s.serve(t)
			first.await(t, patrols)
			second := s.serve(t)
			second.await(t, servedAt.String())
			s.awaitRounds(t, components, rounds)
			if said, _ := second.output.read(); strings.Contains(said, patrols) {
				t.Errorf("both patrol:\n%s", said)
			}
			first.kill()
			killed := time.Now()
			second.await(t, patrols)
			t.Logf("the other server patrols %v after the kill", time.Since(killed).Round(time.Millisecond))
			s.awaitRounds(t, components, 2*rounds-1)
			if code := second.stop(t, syscall.SIGTERM); code != 0 {
				t.Errorf("exit code %d after SIGTERM, want 0", code)
			}
			for _, component := range components {
				s.probedOnce(t, component, interval)
			}
		})
	}
}

func (s *shared) awaitRounds(t *testing.T, components []string, rounds int) {
	t.Helper()
	eventually(t, fmt.Sprintf("not every component has %d results", rounds), func() bool {
		for _, component := range components {
			if len(s.results(t, component)) < rounds {
				return false
			}
		}
		return true
	})
}

// probedOnce compares the probes that the server saw with those on record, of
// which each end of a server may have cost one, and looks at how far they lie
// apart: half an interval, but for the three after a change of status.
func (s *shared) probedOnce(t *testing.T, component string, interval time.Duration) {
	t.Helper()
	const ends, quickly, tolerance = 2, 3, 50 * time.Millisecond
	results := s.results(t, component)
	if saw := s.probes(component); saw < len(results) || saw > len(results)+ends {
		t.Errorf("%s was probed %d times, and %d results are on record", component, saw, len(results))
	}
	quick := 0
	for i := 1; i < len(results); i++ {
		apart := results[i-1].Seen.ProbedAt.Sub(results[i].Seen.ProbedAt)
		if apart < max(interval/4, time.Second)-tolerance {
			t.Errorf("%s was probed twice in %v", component, apart)
		}
		if apart < interval/2-tolerance {
			quick++
		}
	}
	if quick > quickly {
		t.Errorf("%s was probed %d times in less than half an interval, want at most %d", component, quick, quickly)
	}
}

// TestServe_standsByWhenItWakesAndAnotherPatrols stops the server that patrols
// while a probe of it is under way, and lets it go on when another patrols. The
// result that it has then is refused, and it lives on and watches.
func TestServe_standsByWhenItWakesAndAnotherPatrols(t *testing.T) {
	t.Parallel()
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShared(t, open(t), time.Second, "slow")
			first := s.serve(t)
			url := first.await(t, servedAt.String())[1]
			first.await(t, patrols)
			s.holdNext()
			begun := s.probes("slow")
			s.awaitBeat(t)
			if err := first.signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			stopped := time.Now()
			second := s.serve(t)
			second.await(t, patrols)
			eventually(t, "the server that patrols now records nothing", func() bool {
				results := s.results(t, "slow")
				return len(results) > 0 && results[0].Seen.ProbedAt.After(stopped)
			})
			close(s.letGo)
			<-s.waited
			if err := first.signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			first.await(t, "another process has taken the patrol over; this one stands by")
			if tested := run(t, s.folder, s.env, binary(), "probe", url); tested.code != 0 {
				t.Errorf("the server that woke up does not pass its own gates:\n%s%s", tested.stdout, tested.stderr)
			}
			if recorded := s.recordedBefore(t, stopped); recorded != begun-1 {
				t.Errorf("%d results are on record of the %d probes before the stop, want all but the last", recorded, begun)
			}
			if code := second.stop(t, syscall.SIGTERM); code != 0 {
				t.Errorf("exit code %d after SIGTERM, want 0", code)
			}
			first.await(t, "(?s)"+patrols+".*stands by.*"+patrols)
		})
	}
}

// awaitBeat waits until the holder of the lease has beaten, so that for a while
// it is not about to write, with the file of SQLite locked.
func (s *shared) awaitBeat(t *testing.T) {
	t.Helper()
	before, err := s.database.Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lease stands still", func() bool {
		now, err := s.database.Lease(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return now.Beat != before.Beat
	})
}

// recordedBefore counts the results of probes that were begun before a moment.
func (s *shared) recordedBefore(t *testing.T, moment time.Time) int {
	t.Helper()
	count := 0
	for _, kept := range s.results(t, "slow") {
		if kept.Seen.ProbedAt.Before(moment) {
			count++
		}
	}
	return count
}
