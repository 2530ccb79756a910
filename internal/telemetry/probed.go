package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/registry"
)

// probed is what the probes of this process did, whoever asked for them.
type probed struct {
	gates         *prometheus.HistogramVec
	opened, ended prometheus.Counter
}

func newProbed() probed {
	p := probed{
		gates:  histograms("gate_duration_seconds", "How long a gate took, or what a component of another kind has in its place.", durationBuckets(), "gate"),
		opened: counter("probe_sessions_opened_total", "Sessions that servers opened for probes, and processes that probes started."),
		ended:  counter("probe_sessions_closed_total", "Of those, the sessions whose end the server was told and the processes that have ended."),
	}
	for _, part := range registry.Parts() {
		p.gates.WithLabelValues(part)
	}
	return p
}

func (m *probed) all() []prometheus.Collector {
	return []prometheus.Collector{m.gates, m.opened, m.ended}
}

// Probed tells what a probe found that has ended, also one that was interrupted.
func (m *probed) Probed(found registry.Summary) {
	parts := registry.Parts()
	for _, each := range found.Parts {
		m.gates.WithLabelValues(within(each.Part, parts)).Observe(each.Took.Seconds())
	}
	m.opened.Add(float64(max(found.Sessions.Opened, 0)))
	m.ended.Add(float64(max(found.Sessions.Ended, 0)))
}
