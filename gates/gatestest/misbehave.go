package gatestest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// sessions are opened and closed one after the other, and by each of clients
	// at the same time.
	sessions = 8
	clients  = 2
	// many is how often /test is asked at once.
	many = 50
	// hangUps is how many clients hang up in each way.
	hangUps = 5
	// settleEvery is how often /test is asked whether it has noticed a change.
	settleEvery = 100 * time.Millisecond
	// maxBody bounds what is read of an answer.
	maxBody = 1 << 20
)

// newClient follows no redirect and uses no proxy, as the prober does.
func newClient(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{MaxIdleConnsPerHost: many},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// ask sends a request and returns the status and the body of the answer.
func (s *suite) ask(ctx context.Context, method, url string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusSwitchingProtocols {
		return response.StatusCode, nil, nil // its body is the connection, which no time-out ends
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	return response.StatusCode, body, err
}

func (s *suite) at(path string) string { return s.server.Base.String() + path }

func (s *suite) testSessions(t *testing.T) {
	for i := range sessions {
		if s.mustPass(t, fmt.Sprintf("after %d sessions", i)); t.Failed() {
			return
		}
	}
}

func (s *suite) testTwoClients(t *testing.T) {
	var working sync.WaitGroup
	seen := make([][]registry.ProbeResult, clients)
	for i := range clients {
		working.Go(func() {
			for range sessions {
				seen[i] = append(seen[i], s.mustPass(t, "beside another client"))
			}
		})
	}
	working.Wait()
	results := slices.Concat(seen...)
	for _, result := range results {
		if !slices.Equal(result.Tools, results[0].Tools) && result.Passed() && results[0].Passed() {
			t.Errorf("two clients saw different tools: %q and %q", results[0].Tools, result.Tools)
			return
		}
	}
}

func (s *suite) testMany(t *testing.T) {
	var answering sync.WaitGroup
	problems := make([]string, many)
	for i := range many {
		answering.Go(func() {
			status, body, err := s.ask(t.Context(), http.MethodGet, s.at("/test"))
			if err != nil {
				problems[i] = fmt.Sprintf("no complete answer within %s: %v", s.timeout, err)
			} else if answer := registry.JudgeTest(status, body); answer.Cause != "" {
				problems[i] = fmt.Sprintf("%s: %q", answer.Cause, answer.Detail)
			}
		})
	}
	answering.Wait()
	slices.Sort(problems)
	failed := slices.DeleteFunc(problems, func(problem string) bool { return problem == "" })
	if len(failed) > 0 {
		t.Errorf("of %d requests for /test at once, %d had another answer than the one alone before:\n\t%s\n\tLet concurrent requests share one execution of each check.",
			many, len(failed), strings.Join(slices.Compact(failed), "\n\t"))
	}
}

func (s *suite) testMethods(t *testing.T) {
	for _, path := range []string{"/healthz", "/test"} {
		for _, method := range []string{"HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"} {
			status, _, err := s.ask(t.Context(), method, s.at(path))
			if problem := unsound(status, err); problem != "" {
				t.Errorf("%s %s: %s", method, path, problem)
			}
		}
	}
}

// unsound says what is wrong with the answer to a client's mistake.
func unsound(status int, err error) string {
	switch {
	case err != nil:
		return fmt.Sprintf("no complete answer: %v", err)
	case status >= 500 && status != http.StatusNotImplemented:
		return fmt.Sprintf("status %d; what a client does wrong is answered with a status of 400 to 499", status)
	}
	return ""
}

func (s *suite) testHangingUp(t *testing.T) {
	var leaving sync.WaitGroup
	for range hangUps {
		leaving.Go(func() {
			ctx, hangUp := context.WithTimeout(t.Context(), time.Millisecond)
			defer hangUp()
			_, _, _ = s.ask(ctx, http.MethodGet, s.at("/test"))
		})
		leaving.Go(func() { s.breakOff(t.Context()) })
	}
	leaving.Wait()
}

// breakOff sends a part of a message, and then drops the connection.
func (s *suite) breakOff(ctx context.Context) {
	reader, writer := io.Pipe()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.server.Endpoint.String(), reader)
	if err != nil {
		return
	}
	speakMCP(request.Header)
	var sending sync.WaitGroup
	sending.Go(func() {
		_, _ = io.WriteString(writer, `{"jsonrpc":"2.0","id":1,"method":"tools/`)
		_ = writer.CloseWithError(errors.New("the client hangs up"))
	})
	if response, err := s.client.Do(request); err == nil {
		_ = response.Body.Close()
	}
	_ = reader.Close()
	sending.Wait()
}

func (s *suite) testBreaking(t *testing.T) {
	repaired := false
	repair := func() {
		if !repaired {
			repaired = true
			s.repair()
		}
	}
	defer repair()
	s.breaking()
	result, red := s.await(t, func(result *registry.ProbeResult) bool { return !result.Test.OK })
	switch {
	case !red:
		t.Errorf("/test still passes %s after something that the server needs was broken, so it does not exercise it", s.settle)
	case result.Test.Cause != registry.NotOK:
		t.Errorf("/test should answer 503 with a JSON object whose ok is false, but %s", complaint(registry.Test, &result))
	}
	if !result.Healthz.OK {
		t.Errorf("the process lives, but %s\n\tKeep /healthz free of what the server needs: who is told that a living process is dead kills it.",
			complaint(registry.Healthz, &result))
	}
	repair()
	if result, green := s.await(t, (*registry.ProbeResult).Passed); !green {
		t.Errorf("%s after the repair the server still does not pass: %q", s.settle, result.Error())
	}
}

// await probes until the result is as wanted, or the limit is over.
func (s *suite) await(t *testing.T, wanted func(*registry.ProbeResult) bool) (registry.ProbeResult, bool) {
	t.Helper()
	ticks := time.NewTicker(settleEvery)
	defer ticks.Stop()
	for deadline := time.Now().Add(s.settle); ; <-ticks.C {
		result := s.probe(t)
		if wanted(&result) {
			return result, true
		}
		if time.Now().After(deadline) {
			return result, false
		}
	}
}
