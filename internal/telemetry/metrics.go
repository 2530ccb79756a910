package telemetry

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// namespace begins the name of every metric of ours.
const namespace = "countersign"

// other is the value of a label that would leave its closed set.
const other = "other"

// scrapeTime bounds one scrape.
const scrapeTime = 10 * time.Second

// Metrics are the measurements of one process, for Prometheus. Every label has a
// closed set of values but for the names of components, which are bounded. Each
// series is there from the start, so that a rate is never missing, but for the
// many causes, which begin when they occur. The names are a contract. It is safe
// for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	fleet    Fleet

	held, rejected   prometheus.Gauge
	lag, stores      prometheus.Histogram
	stored, dropped  prometheus.Counter
	probes, causes   *prometheus.CounterVec
	duration         *prometheus.HistogramVec
	accepted, reject prometheus.Counter
}

// NewMetrics returns the metrics of this process, with those of the Go runtime
// and of the process itself, and of the components that fleet reads; nil for none.
func NewMetrics(version string, fleet Fleet) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		fleet:    fleet,
		held:     gauge("patrol_lease_held", "1 while this process patrols, 0 while another does or none."),
		lag:      histogram("patrol_lag_seconds", "How long after its due time a probe began.", lagBuckets()),
		stores:   histogram("patrol_store_duration_seconds", "How long it took to store a batch of results.", prometheus.DefBuckets),
		stored:   counter("patrol_results_stored_total", "Results of the patrol that were stored."),
		dropped:  counter("patrol_results_dropped_total", "Results of the patrol that were given up: the database did not take them in time, or another process patrols."),
		probes:   counters("patrol_probes_total", "Probes of the patrol, by kind of component and outcome.", "kind", "outcome"),
		causes:   counters("patrol_probe_causes_total", "Causes in results of the patrol that did not pass; a result may have several.", "kind", "cause"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "patrol_probe_duration_seconds",
			Help: "How long the slowest part of a probe of the patrol took.", Buckets: durationBuckets(),
		}, []string{"kind"}),
		rejected: gauge("config_rejected", "1 while the newest configuration file is rejected and the one before it goes on."),
	}
	reloads := counters("config_reloads_total", "Changed configuration files that were read, by result.", "result")
	m.accepted, m.reject = reloads.WithLabelValues("accepted"), reloads.WithLabelValues("rejected")
	m.foresee()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1; what runs stands in the labels.",
	}, []string{"version", "go_version"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(m.held, m.lag, m.stores, m.stored, m.dropped, m.probes, m.causes, m.duration, m.rejected, reloads, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// foresee gives every label value but causes its series.
func (m *Metrics) foresee() {
	for _, kind := range registry.Kinds() {
		m.duration.WithLabelValues(string(kind))
		for _, outcome := range outcomes() {
			m.probes.WithLabelValues(string(kind), string(outcome))
		}
	}
}

// Handler serves the metrics in the formats of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), scrapeTime)
		defer cancel()
		sources := prometheus.Gatherers{m.registry}
		if m.fleet != nil {
			sources = append(sources, readFleet(ctx, m.fleet))
		}
		promhttp.HandlerFor(sources, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
}

// Holding tells whether this process patrols now.
func (m *Metrics) Holding(yes bool) { m.held.Set(truth(yes)) }

// Started tells how long after its due time a probe of the patrol began.
func (m *Metrics) Started(lag time.Duration) { m.lag.Observe(lag.Seconds()) }

// Examined tells what a probe of the patrol found.
func (m *Metrics) Examined(kind registry.Kind, found registry.Summary) {
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
func (m *Metrics) Stored(results int, took time.Duration) {
	m.stored.Add(float64(results))
	m.stores.Observe(took.Seconds())
}

// Dropped tells that results of the patrol were given up.
func (m *Metrics) Dropped(results int) { m.dropped.Add(float64(results)) }

// Reloaded tells that a changed configuration file was read, and whether it is in
// force now.
func (m *Metrics) Reloaded(accepted bool) {
	m.rejected.Set(truth(!accepted))
	if accepted {
		m.accepted.Inc()
	} else {
		m.reject.Inc()
	}
}

func outcomes() []registry.Outcome {
	return []registry.Outcome{registry.OutcomePassed, registry.OutcomeFailed, registry.OutcomeUndecided}
}

// within is a value as a label, which stays in its closed set.
func within[T ~string](value T, closed []T) string {
	if slices.Contains(closed, value) {
		return string(value)
	}
	return other
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func lagBuckets() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}

func durationBuckets() []float64 {
	return []float64{.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
}
