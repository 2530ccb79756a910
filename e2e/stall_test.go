//go:build unix

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// heldServer is a server that passes, and holds its answers back when it is told to.
type heldServer struct {
	handler http.Handler

	mu   sync.Mutex
	hold chan struct{} // closed when it is to answer
	held chan struct{} // has room for a word of one request that waits
}

func (s *heldServer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	s.mu.Lock()
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		select {
		case s.held <- struct{}{}:
		default:
		}
		<-hold
	}
	s.handler.ServeHTTP(w, request)
}

// holdBack has answers held back, and returns when one is. Call the result to have
// them given.
func (s *heldServer) holdBack() (answer func()) {
	hold := make(chan struct{})
	held := make(chan struct{}, 1)
	s.mu.Lock()
	s.hold, s.held = hold, held
	s.mu.Unlock()
	<-held
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.hold == hold {
			s.hold = nil
			close(hold)
		}
	}
}

// TestServe_blamesNoServerForAStallOfItsOwn stops serve while a probe of a good server
// is under way, for longer than the time-out of the probe. Without a stop the same
// silence is a failure, and alerts.
func TestServe_blamesNoServerForAStallOfItsOwn(t *testing.T) {
	t.Parallel()
	const timeout, stop = 2 * time.Second, 4 * time.Second // the lease outlives it
	var alerts atomic.Int64
	receiver := listenAs(t, http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		alerts.Add(1)
	}))
	good := &heldServer{handler: newSceneServer("tracker", "1.4.0", sceneTool{"track", "Track it.", ""}).handler()}
	listening := httptest.NewServer(good)
	location, folder := sqlite(t), t.TempDir()
	configure(t, folder, fmt.Sprintf(`components:
  tracker: {kind: mcp_server, url: %q, interval: 2s, ttl: 10m, timeout: %v}
alerts:
  webhooks: [{name: team, url: %q}]
`, listening.URL, timeout, receiver))
	serve := start(t, folder, environment(t), binary(), "serve", "--db", location, "--listen", "127.0.0.1:0")
	serve.await(t, patrols)
	t.Cleanup(listening.Close)
	database, err := store.Open(t.Context(), location, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	awaitOutcome := func(wanted registry.Outcome, after time.Time) registry.Seen {
		var seen registry.Seen
		eventually(t, fmt.Sprintf("no result after %v is %s", after, wanted), func() bool {
			results, err := database.Results(t.Context(), "tracker", "", 1000)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(results, func(one registry.Kept) bool {
				return !one.Seen.ProbedAt.Before(after) && one.Seen.Outcome == wanted
			})
			if i >= 0 {
				seen = results[i].Seen
			}
			return i >= 0
		})
		return seen
	}
	awaitOutcome(registry.OutcomePassed, time.Time{})

	answer := good.holdBack()
	t.Cleanup(answer)
	if err := serve.signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	eventually(t, "time stands still", func() bool { return time.Since(stopped) > stop })
	if err := serve.signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	stalled := awaitOutcome(registry.OutcomeUndecided, time.Time{})
	if !slices.Equal(stalled.Causes, []registry.Cause{registry.Overloaded}) || !strings.Contains(stalled.Reason, "stood still for") {
		t.Errorf("the probe that the stop fell into is undecided for %v: %s", stalled.Causes, stalled.Reason)
	}
	answer()
	awaitOutcome(registry.OutcomePassed, time.Now())
	if unavailable(t, database) || alerts.Load() > 0 {
		t.Errorf("a stall made the server unavailable, or alerted %d times", alerts.Load())
	}

	silent := good.holdBack()
	t.Cleanup(silent)
	failed := awaitOutcome(registry.OutcomeFailed, time.Now()) // of a probe that began in the silence
	if !slices.Contains(failed.Causes, registry.Timeout) {
		t.Errorf("a server that says nothing fails for %v", failed.Causes)
	}
	eventually(t, "a server that says nothing is not unavailable, or does not alert", func() bool {
		return unavailable(t, database) && alerts.Load() > 0
	})
}

// unavailable reports whether the server ever became so.
func unavailable(t *testing.T, database *store.Database) bool {
	t.Helper()
	changes, err := database.Changes(t.Context(), "tracker", 100)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(changes, func(change registry.Change) bool { return change.To == registry.Unavailable })
}
