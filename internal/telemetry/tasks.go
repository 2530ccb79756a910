package telemetry

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/task"
)

// Tasks is what was counted of all tasks of the database, by whichever process.
// No method of it may scan the tasks.
type Tasks interface {
	// Tally returns what was counted of all transitions. Fault: Unavailable.
	Tally(ctx context.Context) (task.Tally, error)
	// Oldest returns since when the oldest open tasks wait. Fault: Unavailable.
	Oldest(ctx context.Context) (task.Oldest, error)
}

// readTasks returns the metrics of the tasks as they were counted last.
func (m *Metrics) readTasks(ctx context.Context) ([]prometheus.Collector, error) {
	tally, err := m.options.Tasks.Tally(ctx)
	if err != nil {
		return nil, fmt.Errorf("read what was counted of tasks: %w", err)
	}
	oldest, err := m.options.Tasks.Oldest(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the oldest tasks: %w", err)
	}
	tasks := gauges("tasks", "Tasks of the database, by status, as they were counted last.", "status")
	for status, number := range map[task.Status]int64{
		task.Pending: tally.Created - tally.Claimed, task.Claimed: tally.Claimed - tally.Verified - tally.Rejected,
		task.Verified: tally.Verified, task.Rejected: tally.Rejected,
	} {
		tasks.WithLabelValues(string(status)).Set(float64(number))
	}
	transitions := counters("task_transitions_total", "Transitions of tasks of the database that were counted, by kind, made by whichever process.", "kind")
	for kind, number := range map[task.Kind]int64{
		task.KindCreated: tally.Created, task.KindClaimed: tally.Claimed, task.KindVerified: tally.Verified, task.KindRejected: tally.Rejected,
	} {
		transitions.WithLabelValues(string(kind)).Add(float64(number))
	}
	now := m.options.Now()
	age := gauges("oldest_task_age_seconds", "For how long the oldest open task has had its status; 0 when there is none.", "status")
	age.WithLabelValues(string(task.Pending)).Set(secondsSince(oldest.Pending, now))
	age.WithLabelValues(string(task.Claimed)).Set(secondsSince(oldest.Claimed, now))
	all := []prometheus.Collector{tasks, transitions, age, verdicts(tally.VerdictLatency)}
	if tally.RolledUpAt != nil {
		counted := gauge("rollup_age_seconds", "How long ago it was last looked for transitions to be counted; missing when that never was.")
		counted.Set(secondsSince(tally.RolledUpAt, now))
		all = append(all, counted)
	}
	return all, nil
}

// verdicts is a histogram that was counted elsewhere.
func verdicts(counted task.Latency) prometheus.Collector {
	buckets := map[float64]uint64{}
	for _, bound := range task.LatencyBounds() {
		buckets[bound.Seconds()] = 0
	}
	for _, each := range counted.Buckets {
		buckets[float64(each.Seconds)] = uint64(max(each.Count, 0))
	}
	about := prometheus.NewDesc(namespace+"_task_verdict_latency_seconds", "How long after its claim a verdict was given, of all verdicts that were counted.", nil, nil)
	return constant{prometheus.MustNewConstHistogram(about, uint64(max(counted.Count, 0)), counted.SumSeconds, buckets)}
}

// constant collects one metric that does not change.
type constant struct{ metric prometheus.Metric }

// Describe implements prometheus.Collector.
func (c constant) Describe(out chan<- *prometheus.Desc) { out <- c.metric.Desc() }

// Collect implements prometheus.Collector.
func (c constant) Collect(out chan<- prometheus.Metric) { out <- c.metric }

// secondsSince is 0 for no moment, and for one to come.
func secondsSince(moment *task.Time, now time.Time) float64 {
	if moment == nil {
		return 0
	}
	return max(now.Sub(moment.Time()).Seconds(), 0)
}
