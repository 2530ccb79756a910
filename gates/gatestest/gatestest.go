package gatestest

import (
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/probe"
)

// What no option says.
const (
	DefaultTimeout = 10 * time.Second // of a gate, and of the answer to a request
	DefaultSettle  = 30 * time.Second // until /test tells what has changed
)

// Option changes what Run does.
type Option func(*suite)

// Endpoint is where the server speaks MCP, when it is not /mcp below its address.
func Endpoint(url string) Option { return func(s *suite) { s.endpoint = url } }

// RequireTools names tools that the server must list.
func RequireTools(names ...string) Option {
	return func(s *suite) { s.require = append(s.require, names...) }
}

// Timeout is how long a gate, or the answer to a request, may take instead of
// DefaultTimeout. It must be positive.
func Timeout(limit time.Duration) Option { return func(s *suite) { s.timeout = limit } }

// Breakable gives Run a way to break something that the server needs, and to
// repair it. /test must tell of either within DefaultSettle, which is longer than
// the kit keeps a result. Repair is called whenever breaking was.
func Breakable(breaking, repair func()) Option {
	return func(s *suite) { s.breaking, s.repair = breaking, repair }
}

// Settle is how long /test may take to tell what has changed instead of
// DefaultSettle.
func Settle(limit time.Duration) Option { return func(s *suite) { s.settle = limit } }

// Run tests the server at url, which is the address that /healthz, /test and /mcp
// follow. The misbehaviours are tried only on a server that passes its gates.
func Run(t *testing.T, url string, options ...Option) {
	t.Helper()
	s := &suite{timeout: DefaultTimeout, settle: DefaultSettle}
	for _, option := range options {
		option(s)
	}
	if s.timeout <= 0 {
		t.Fatalf("the time-out %s is not positive", s.timeout)
	}
	server, err := probe.ParseMCPServer(url, s.endpoint)
	if err != nil {
		t.Fatalf("this server cannot be probed: %v", err)
	}
	server.RequireTools = s.require
	s.server, s.client = server, newClient(s.timeout)
	defer s.client.CloseIdleConnections()
	if s.testGates(t) {
		s.testMisbehaviour(t)
	}
}

// misbehaviour is what the server has to bear in one subtest.
type misbehaviour struct {
	name string
	test func(*testing.T)
}

// testMisbehaviour ends early when the server does not survive.
func (s *suite) testMisbehaviour(t *testing.T) {
	t.Helper()
	tests := []misbehaviour{
		{"serves one session after the other", s.testSessions},
		{"serves two clients at once", s.testTwoClients},
		{"answers fifty requests for test at once", s.testMany},
		{"survives other methods", s.testMethods},
		{"survives clients that hang up", s.testHangingUp},
	}
	for _, a := range abuses() {
		tests = append(tests, misbehaviour{"survives " + a.name, func(t *testing.T) { s.testAbuse(t, a) }})
	}
	if s.breaking != nil && s.repair != nil {
		tests = append(tests, misbehaviour{"keeps healthz green while test is red", s.testBreaking})
	}
	for _, each := range tests {
		passed := t.Run(each.name, func(t *testing.T) {
			each.test(t)
			s.mustPass(t, "afterwards")
		})
		if !passed && !s.passes(t) {
			t.Log("the server did not survive; what else there is to test was left out")
			return
		}
	}
}
