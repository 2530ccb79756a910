package main

import (
	"context"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// countRequests counts what a probe sends, on first contact and from then on.
func countRequests(ctx context.Context) ([]figure, error) {
	var figures []figure
	left := 0.0
	for _, kind := range []struct {
		name     string
		era      registry.Era
		stateful bool
		first    float64
		later    float64
	}{
		{"modern", registry.Modern, false, 4, 4},
		{"legacy without session", registry.Legacy, false, 6, 5},
		{"legacy with session", registry.Legacy, true, 7, 6},
	} {
		server := newStub(kind.era, kind.stateful)
		first, later, err := server.counted(ctx)
		left += float64(server.opened.Load() - server.closed.Load())
		server.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.name, err)
		}
		figures = append(figures,
			figure{name: "requests, " + kind.name, ours: series{later}, value: series{later}, target: &target{atMost, kind.later, ""}},
			figure{name: "requests, " + kind.name + ", first contact", ours: series{first}, value: series{first}, target: &target{atMost, kind.first, ""}})
	}
	return append(figures, figure{name: "sessions left", ours: series{left}, value: series{left}, target: &target{atMost, 0, ""}}), nil
}

// counted probes the stub twice and returns how many requests came each time.
func (s *stub) counted(ctx context.Context) (first, later float64, err error) {
	server, err := probe.ParseMCPServer(s.URL, "")
	if err != nil {
		return 0, 0, err
	}
	settings := probe.Settings{Timeout: time.Minute, Version: "bench", Now: time.Now, Eras: mcpwire.NewEras()}
	var counts [2]float64
	for i := range counts {
		before := s.requests.Load()
		if result := server.Probe(ctx, settings); !result.Passed() {
			return 0, 0, fmt.Errorf("the stub does not pass: %s", result.Error())
		}
		counts[i] = float64(s.requests.Load() - before)
	}
	return counts[0], counts[1], nil
}
