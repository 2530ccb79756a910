package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/patrol"
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

func TestUsualLimits_areThoseOfTheConfiguration(t *testing.T) {
	t.Parallel()
	usual := config.Default()
	want := patrol.Limits{Concurrency: usual.Patrol.Concurrency, PerHost: usual.Patrol.PerHost, Retention: usual.Retention}
	if diff := cmp.Diff(want, usualLimits()); diff != "" {
		t.Errorf("limits (-configuration +got):\n%s", diff)
	}
}
