package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Both sides must do as much work as the figures say.
func TestPatrolAsTold_startsAsManyProbesOnBothSides(t *testing.T) {
	t.Parallel()
	for name, bare := range map[string]bool{"patrol": false, "bare": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			order, err := json.Marshal(patrolOrder{
				File: filepath.Join(t.TempDir(), "tasks.db"), Bare: bare, Components: 40, Interval: 2 * time.Second, For: 2 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			var printed strings.Builder
			if err := patrolAsTold(t.Context(), string(order), &printed); err != nil {
				t.Fatal(err)
			}
			var seen patrolTally
			if err := json.Unmarshal([]byte(printed.String()), &seen); err != nil {
				t.Fatal(err)
			}
			if len(seen.Late) < 30 || len(seen.Late) > 80 || !slices.IsSorted(seen.Late) {
				t.Errorf("%d starts of 40 components in one interval", len(seen.Late))
			}
		})
	}
}

func TestFleet_isReadAsAvailable(t *testing.T) {
	t.Parallel()
	l := &lab{directory: t.TempDir(), log: t.Output(), rounds: 1}
	f, err := l.readStatuses(t.Context(), 200)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.ours) != 1 || len(f.beside) != 1 || f.ours[0] <= 0 {
		t.Errorf("got %+v", f)
	}
}
