package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/registry"
)

// patrolled is what the patrol of this process did.
type patrolled struct {
	held            prometheus.Gauge
	lag, stores     prometheus.Histogram
	stored, dropped prometheus.Counter
	probes, causes  *prometheus.CounterVec
	duration        *prometheus.HistogramVec
}

func newPatrolled() patrolled {
	p := patrolled{
		held:     gauge("patrol_lease_held", "1 while this process patrols, 0 while another does or none."),
		lag:      histogram("patrol_lag_seconds", "How long after its due time a probe began.", lagBuckets()),
		stores:   histogram("patrol_store_duration_seconds", "How long it took to store a batch of results.", prometheus.DefBuckets),
		stored:   counter("patrol_results_stored_total", "Results of the patrol that were stored."),
		dropped:  counter("patrol_results_dropped_total", "Results of the patrol that were given up: the database did not take them in time, or another process patrols."),
		probes:   counters("patrol_probes_total", "Probes of the patrol, by kind of component and outcome.", "kind", "outcome"),
		causes:   counters("patrol_probe_causes_total", "Causes in results of the patrol that did not pass; a result may have several.", "kind", "cause"),
		duration: histograms("patrol_probe_duration_seconds", "How long the slowest part of a probe of the patrol took.", durationBuckets(), "kind"),
	}
	for _, kind := range registry.Kinds() {
		p.duration.WithLabelValues(string(kind))
		for _, outcome := range outcomes() {
			p.probes.WithLabelValues(string(kind), string(outcome))
		}
	}
	return p
}

func (m *patrolled) all() []prometheus.Collector {
	return []prometheus.Collector{m.held, m.lag, m.stores, m.stored, m.dropped, m.probes, m.causes, m.duration}
}

// Holding tells whether this process patrols now.
func (m *patrolled) Holding(yes bool) { m.held.Set(truth(yes)) }

// Started tells how long after its due time a probe of the patrol began.
func (m *patrolled) Started(lag time.Duration) { m.lag.Observe(lag.Seconds()) }

// Examined tells what a probe of the patrol found.
func (m *patrolled) Examined(kind registry.Kind, found registry.Summary) {
	of, outcome := within(kind, registry.Kinds()), within(found.Outcome, outcomes())
	m.probes.WithLabelValues(of, outcome).Inc()
	m.duration.WithLabelValues(of).Observe(found.Latency.Seconds())
	for _, cause := range found.Causes {
		label := other
		if _, known := cause.Entry(); known {
			label = string(cause)
		}
		m.causes.WithLabelValues(of, label).Inc()
	}
}

// Stored tells that results of the patrol were stored, and how long it took.
func (m *patrolled) Stored(results int, took time.Duration) {
	m.stored.Add(float64(results))
	m.stores.Observe(took.Seconds())
}

// Dropped tells that results of the patrol were given up.
func (m *patrolled) Dropped(results int) { m.dropped.Add(float64(results)) }

func outcomes() []registry.Outcome {
	return []registry.Outcome{registry.OutcomePassed, registry.OutcomeFailed, registry.OutcomeUndecided}
}

func lagBuckets() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}

func durationBuckets() []float64 {
	return []float64{.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}
