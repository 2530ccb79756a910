package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// MaxReceivers is of how many receivers of alerts there are series; those that are
// configured later in the life of a process are counted together as other.
const MaxReceivers = 32

// alerted is what this process told people.
type alerted struct {
	held       prometheus.Gauge
	firing     *prometheus.GaugeVec
	deliveries *prometheus.CounterVec
	took       prometheus.Histogram
	receivers  *receivers
}

// receivers are those that have series.
type receivers struct {
	mu    sync.Mutex
	known map[string]bool
}

// alertKinds are what alerts are about; the last says that there are too many.
func alertKinds() []string { return []string{"component", "run", "task", "alerts"} }

// The outcomes of telling a receiver.
const (
	delivered = "delivered"
	failed    = "failed"
	givenUp   = "given_up"
)

func newAlerted() alerted {
	a := alerted{
		held:       gauge("alert_lease_held", "1 while this process sends the alerts, 0 while another does or none."),
		firing:     gauges("alerts_firing", "Alerts that fire, by what they are about, in the process that sends them.", "kind"),
		deliveries: counters("alert_deliveries_total", "Attempts to tell a receiver of alerts, by outcome; given_up are alerts that are not tried any more.", "receiver", "outcome"),
		took:       histogram("alert_delivery_duration_seconds", "How long it took to tell a receiver that took the alerts.", durationBuckets()),
		receivers:  &receivers{known: map[string]bool{}},
	}
	for _, kind := range alertKinds() {
		a.firing.WithLabelValues(kind)
	}
	return a
}

func (m *alerted) all() []prometheus.Collector {
	return []prometheus.Collector{m.held, m.firing, m.deliveries, m.took}
}

// Alerting tells whether this process sends the alerts.
func (m *alerted) Alerting(yes bool) { m.held.Set(truth(yes)) }

// Firing tells how many alerts of each kind fire.
func (m *alerted) Firing(counts map[string]int) {
	for _, kind := range alertKinds() {
		m.firing.WithLabelValues(kind).Set(float64(counts[kind]))
	}
}

// Delivered tells that a receiver has taken alerts, and how long that took.
func (m *alerted) Delivered(receiver string, took time.Duration) {
	m.count(receiver, delivered)
	m.took.Observe(took.Seconds())
}

// Failed tells that a receiver has not taken what it was told.
func (m *alerted) Failed(receiver string) { m.count(receiver, failed) }

// GivenUp tells that an alert is not tried any more.
func (m *alerted) GivenUp(receiver string) { m.count(receiver, givenUp) }

// count gives a receiver all of its series with the first.
func (m *alerted) count(receiver, outcome string) {
	label := m.receivers.label(receiver)
	for _, each := range []string{delivered, failed, givenUp} {
		m.deliveries.WithLabelValues(label, each)
	}
	m.deliveries.WithLabelValues(label, outcome).Inc()
}

func (r *receivers) label(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known[name] && len(r.known) >= MaxReceivers {
		return other
	}
	r.known[name] = true
	return name
}
