package telemetry

import (
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// namespace begins the name of every metric of ours.
const namespace = "countersign"

// other is the value of a label that would leave its closed set.
const other = "other"

// MetricsOptions are what metrics are made from. What is nil is not told of.
type MetricsOptions struct {
	Version  string
	Now      func() time.Time // nil for time.Now
	Readings Fleet            // of all registered components
	Tasks    Tasks            // what was counted of all tasks
}

// Metrics are the measurements of one process, for Prometheus. Every label has a
// closed set of values but for the names of components, which are bounded. Each
// series is there from the start, so that a rate is never missing, but for the
// many causes, which begin when they occur. The names are a contract, which
// docs/METRICS.md explains. It is safe for concurrent use.
type Metrics struct {
	options  MetricsOptions
	registry *prometheus.Registry

	patrolled
	probed
	called
	followed
	alerted

	rejected         prometheus.Gauge
	accepted, reject prometheus.Counter
	waited           prometheus.Histogram
}

// NewMetrics returns the metrics of this process, with those of the Go runtime
// and of the process itself, and of the sources that the options name.
func NewMetrics(options MetricsOptions) *Metrics {
	if options.Now == nil {
		options.Now = time.Now
	}
	m := &Metrics{
		options: options, registry: prometheus.NewRegistry(),
		patrolled: newPatrolled(), probed: newProbed(), called: newCalled(), followed: newFollowed(), alerted: newAlerted(),
		rejected: gauge("config_rejected", "1 while the newest configuration file is rejected and the one before it goes on."),
		waited:   histogram("store_writer_wait_seconds", "How long a write waited for its turn in the queue of writers.", waitBuckets()),
	}
	reloads := counters("config_reloads_total", "Changed configuration files that were read, by result.", "result")
	m.accepted, m.reject = reloads.WithLabelValues("accepted"), reloads.WithLabelValues("rejected")
	build := gauges("build_info", "Always 1; what runs stands in the labels.", "version", "go_version")
	build.WithLabelValues(options.Version, runtime.Version()).Set(1)
	m.registry.MustRegister(m.rejected, reloads, build, m.waited,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, group := range [][]prometheus.Collector{m.patrolled.all(), m.probed.all(), m.called.all(), m.followed.all(), m.alerted.all()} {
		m.registry.MustRegister(group...)
	}
	return m
}

// Waited tells how long a write waited for its turn.
func (m *Metrics) Waited(wait time.Duration) { m.waited.Observe(wait.Seconds()) }

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

func waitBuckets() []float64 {
	return []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 30}
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

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}
