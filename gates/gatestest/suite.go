package gatestest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// suite is the server under test, and what is expected of it.
type suite struct {
	server   probe.MCPServer
	client   *http.Client
	endpoint string
	require  []string
	timeout  time.Duration
	settle   time.Duration
	breaking func()
	repair   func()
}

func (s *suite) probe(t *testing.T) registry.ProbeResult {
	t.Helper()
	return s.server.Probe(t.Context(), probe.Settings{Timeout: s.timeout, Version: "gatestest", Now: time.Now})
}

func (s *suite) passes(t *testing.T) bool {
	t.Helper()
	result := s.probe(t)
	return result.Passed()
}

// mustPass fails the test, and tells why, unless the three gates pass now.
func (s *suite) mustPass(t *testing.T, when string) registry.ProbeResult {
	t.Helper()
	result := s.probe(t)
	for _, gate := range registry.Gates() {
		if !result.Gate(gate).OK {
			t.Errorf("%s %s", when, complaint(gate, &result))
		}
	}
	return result
}

// testGates is one probe, told gate by gate.
func (s *suite) testGates(t *testing.T) bool {
	t.Helper()
	result := s.probe(t)
	for _, gate := range registry.Gates() {
		t.Run(string(gate), func(t *testing.T) {
			if !result.Gate(gate).OK {
				t.Error(complaint(gate, &result))
			}
		})
	}
	for _, warning := range result.Warnings {
		t.Logf("warning: %q", warning)
	}
	return result.Passed()
}

// complaint words a gate that does not pass. What the server says is quoted,
// since it may hold anything.
func complaint(gate registry.Gate, result *registry.ProbeResult) string {
	got := result.Gate(gate)
	entry, _ := got.Cause.Entry()
	var text strings.Builder
	fmt.Fprintf(&text, "the gate %s (%s) does not pass\n\tcause:  %s: %s\n\tdetail: %q\n\thint:   %s",
		gate, asks(gate), got.Cause, entry.Sentence, got.Detail, entry.Hint)
	if gate == registry.Test {
		for _, line := range unusable(result.Dependencies) {
			fmt.Fprintf(&text, "\n\ttool:   %s", line)
		}
	}
	return text.String()
}

func asks(gate registry.Gate) string {
	switch gate {
	case registry.Healthz:
		return "GET /healthz"
	case registry.Test:
		return "GET /test"
	case registry.ListTools:
		return "tools/list at the MCP endpoint"
	}
	return string(gate)
}

// unusable tells which of the server's tools do not work, as far as its answer
// has the form that the kit gives it.
func unusable(dependencies map[string]json.RawMessage) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(dependencies)) {
		var told struct {
			Executable *bool  `json:"executable"`
			Detail     string `json:"detail"`
		}
		if json.Unmarshal(dependencies[name], &told) == nil && told.Executable != nil && !*told.Executable {
			lines = append(lines, fmt.Sprintf("%q: %q", name, told.Detail))
		}
	}
	return lines
}
