package telemetry_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/telemetry"
)

// counted is what was counted of tasks; with an error it cannot be read.
type counted struct {
	tally  task.Tally
	oldest task.Oldest
	err    error
}

func (c counted) Tally(context.Context) (task.Tally, error)   { return c.tally, nil }
func (c counted) Oldest(context.Context) (task.Oldest, error) { return c.oldest, c.err }

// noon is when the tests scrape.
func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func ago(d time.Duration) *task.Time { return new(task.At(noon().Add(-d))) }

// someTasks is a tally with every status.
func someTasks() counted {
	return counted{
		tally: task.Tally{
			Created: 10, Claimed: 7, Verified: 4, Rejected: 1, RolledUpAt: ago(3 * time.Second),
			VerdictLatency: task.Latency{Count: 5, SumSeconds: 100_060.5, Buckets: []task.LatencyBucket{{Seconds: 15, Count: 3}, {Seconds: 60, Count: 4}, {Seconds: 86_400, Count: 4}}},
		},
		oldest: task.Oldest{Pending: ago(time.Hour), Claimed: ago(90 * time.Second)},
	}
}

func TestMetrics_tellWhatWasCountedOfTasks(t *testing.T) {
	t.Parallel()
	lines := scrape(t, telemetry.NewMetrics(telemetry.MetricsOptions{Now: noon, Tasks: someTasks()}))
	for _, want := range []string{
		`countersign_tasks{status="pending"} 3`,
		`countersign_tasks{status="claimed"} 2`,
		`countersign_tasks{status="verified"} 4`,
		`countersign_tasks{status="rejected"} 1`,
		`countersign_task_transitions_total{kind="created"} 10`,
		`countersign_task_transitions_total{kind="claimed"} 7`,
		`countersign_task_transitions_total{kind="verified"} 4`,
		`countersign_task_transitions_total{kind="rejected"} 1`,
		`countersign_oldest_task_age_seconds{status="pending"} 3600`,
		`countersign_oldest_task_age_seconds{status="claimed"} 90`,
		`countersign_rollup_age_seconds 3`,
		`countersign_task_verdict_latency_seconds_bucket{le="15"} 3`,
		`countersign_task_verdict_latency_seconds_bucket{le="60"} 4`,
		`countersign_task_verdict_latency_seconds_bucket{le="+Inf"} 5`,
		`countersign_task_verdict_latency_seconds_sum 100060.5`,
		`countersign_task_verdict_latency_seconds_count 5`,
		`countersign_scrape_source_up{source="tasks"} 1`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%s is not among\n%s", want, strings.Join(lines, "\n"))
		}
	}
	empty := scrape(t, telemetry.NewMetrics(telemetry.MetricsOptions{Now: noon, Tasks: counted{oldest: task.Oldest{Claimed: ago(-time.Hour)}}}))
	for _, want := range []string{
		`countersign_oldest_task_age_seconds{status="pending"} 0`, // there is none
		`countersign_oldest_task_age_seconds{status="claimed"} 0`, // the clock of who claimed it is ahead
	} {
		if !slices.Contains(empty, want) {
			t.Errorf("%s is not among\n%s", want, strings.Join(empty, "\n"))
		}
	}
	if slices.ContainsFunc(empty, func(line string) bool { return strings.HasPrefix(line, "countersign_rollup_age_seconds ") }) {
		t.Error("a roll-up that never was has an age")
	}
}

func TestMetrics_leaveOutTheSourceThatFailsAlone(t *testing.T) {
	t.Parallel()
	gone := errors.New("the database is gone")
	unread := func(context.Context) ([]registry.Reading, error) { return nil, gone }
	broken := someTasks()
	broken.err = gone
	components, tasks := "countersign_component", "countersign_task"
	for name, row := range map[string]struct {
		options           telemetry.MetricsOptions
		has, lacks, tells string
	}{
		"components": {
			telemetry.MetricsOptions{Now: noon, Readings: unread, Tasks: someTasks()},
			tasks, components, `countersign_scrape_source_up{source="components"} 0`,
		},
		"tasks": {
			telemetry.MetricsOptions{Now: noon, Readings: fleetOf(1), Tasks: broken},
			components, tasks, `countersign_scrape_source_up{source="tasks"} 0`,
		},
	} {
		lines := scrape(t, telemetry.NewMetrics(row.options))
		begins := func(prefix string) bool {
			return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, prefix) })
		}
		if !begins(row.has) || begins(row.lacks) || !slices.Contains(lines, row.tells) || !begins("countersign_patrol_lease_held 0") {
			t.Errorf("%s: the metrics are\n%s", name, strings.Join(lines, "\n"))
		}
	}
}

func TestMetrics_doNotWaitForASourceThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context) ([]registry.Reading, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		began := time.Now()
		lines := scrape(t, telemetry.NewMetrics(telemetry.MetricsOptions{Now: noon, Readings: hangs, Tasks: someTasks()}))
		took := time.Since(began)
		var up []string
		for _, line := range lines {
			if strings.HasPrefix(line, "countersign_scrape_source_up{") {
				up = append(up, line)
			}
		}
		want := []string{`countersign_scrape_source_up{source="components"} 0`, `countersign_scrape_source_up{source="tasks"} 1`}
		if diff := cmp.Diff(want, up); diff != "" || took > 6*time.Second {
			t.Errorf("after %v (-want +got):\n%s", took, diff)
		}
	})
}
