package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// overStdio compares one process behind MCP over stdio with the store inside the
// measuring process.
func overStdio(ctx context.Context, l *lab) (section, error) {
	rates := map[string]series{}
	slow := map[string]series{}
	for round := range l.rounds {
		for _, side := range l.order(round) {
			l.progress("mcp: round %d of %d, %s", round+1, l.rounds, side)
			seen, err := l.driveAlone(ctx, side == sideBare)
			if err != nil {
				return section{}, err
			}
			slices.Sort(seen.Waits)
			rates[side] = append(rates[side], float64(seen.Transitions)/l.roundFor.Seconds())
			slow[side] = append(slow[side], percentile(seen.Waits, 0.99))
		}
	}
	return section{
		title: "One process through MCP over stdio",
		method: fmt.Sprintf("One client makes task after task through `countersign mcp` for %v, one call at a time, as plain JSON lines, in %d rounds. "+
			"Beside it stands `internal/store` in the measuring process, with the same records and the same SQLite settings. Each round has new files.", l.roundFor, l.rounds),
		ours: "MCP over stdio", beside: "store in process",
		figures: []figure{
			{
				name: "transitions per second", ours: rates[sideOurs], beside: rates[sideBare],
				value: rates[sideOurs].over(rates[sideBare]), target: &target{atLeast, 0.3, "x"},
			},
			{name: "call, p99", unit: " ms", ours: slow[sideOurs], beside: slow[sideBare], value: slow[sideOurs].over(slow[sideBare])},
		},
	}, nil
}

// driveAlone is one round of one side.
func (l *lab) driveAlone(ctx context.Context, inProcess bool) (tally, error) {
	directory, err := l.fresh()
	if err != nil {
		return tally{}, err
	}
	file := filepath.Join(directory, "tasks.db")
	if inProcess {
		to, done, err := openSQLite(ctx, file, false)
		if err != nil {
			return tally{}, err
		}
		seen, err := drive(ctx, to, agentsOf(0), time.Now().Add(l.roundFor))
		return seen, errors.Join(err, done())
	}
	server, err := dial(ctx, l.binary, "mcp", "--db", file)
	if err != nil {
		return tally{}, err
	}
	seen, err := drive(ctx, newOverMCP(server), agentsOf(0), time.Now().Add(l.roundFor))
	return seen, errors.Join(err, server.close())
}
