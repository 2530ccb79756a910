package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/probe"
)

// proberCommand as the first argument makes this program a process that does
// nothing but probe.
const proberCommand = "prober"

// round is what the prober is to do next, one JSON line each.
type round struct {
	URL    string
	Count  int
	AtOnce int
}

// roundDone is its answer.
type roundDone struct {
	Passed  int
	Failure string // of one that did not pass
}

// probeAsTold probes round by round, until the input ends. Eras are remembered
// from round to round, as by a process that probes on a schedule.
func probeAsTold(ctx context.Context, in io.Reader, out io.Writer) error {
	settings := probe.Settings{Timeout: time.Minute, Version: "bench", Now: time.Now, Eras: mcpwire.NewEras()}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the next round: %w", err)
		}
		var next round
		if err := json.Unmarshal(line, &next); err != nil {
			return fmt.Errorf("read the next round: %w", err)
		}
		done, err := next.run(ctx, settings)
		if err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(done); err != nil {
			return err
		}
	}
}

func (r round) run(ctx context.Context, settings probe.Settings) (roundDone, error) {
	server, err := probe.ParseMCPServer(r.URL, "")
	if err != nil {
		return roundDone{}, err
	}
	results := make([]string, r.Count)
	var group errgroup.Group
	group.SetLimit(r.AtOnce)
	for i := range results {
		group.Go(func() error {
			result := server.Probe(ctx, settings)
			results[i] = result.Error()
			return nil
		})
	}
	_ = group.Wait() // a probe never fails
	var done roundDone
	for _, failure := range results {
		if failure == "" {
			done.Passed++
		} else {
			done.Failure = failure
		}
	}
	return done, nil
}
