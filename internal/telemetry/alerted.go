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
	up         *prometheus.GaugeVec
	took       prometheus.Histogram
	receivers  *receivers
}

// receivers are those that have series.
type receivers struct {
	mu      sync.Mutex
	known   map[string]bool // ever
	present map[string]bool // which there are now, by their labels
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
		up:         gauges("alert_receiver_up", "1 while a receiver of alerts takes what this process tells it, and before it is told anything; 0 while it does not.", "receiver"),
		took:       histogram("alert_delivery_duration_seconds", "How long it took to tell a receiver that took the alerts.", durationBuckets()),
		receivers:  &receivers{known: map[string]bool{}, present: map[string]bool{}},
	}
	for _, kind := range alertKinds() {
		a.firing.WithLabelValues(kind)
	}
	return a
}

func (m *alerted) all() []prometheus.Collector {
	return []prometheus.Collector{m.held, m.firing, m.deliveries, m.up, m.took}
}

// Receivers tells which receivers there are from now on. Each has all of its series
// before it is told anything; of one that is gone only the counters stay.
func (m *alerted) Receivers(names []string) {
	m.receivers.mu.Lock()
	defer m.receivers.mu.Unlock()
	before := m.receivers.present
	m.receivers.present = map[string]bool{}
	for _, name := range names {
		label := m.series(name)
		if !before[label] {
			m.up.WithLabelValues(label).Set(1)
		}
		m.receivers.present[label] = true
	}
	for label := range before {
		if !m.receivers.present[label] {
			m.up.DeleteLabelValues(label)
		}
	}
}

// Alerting tells whether this process sends the alerts. One that does not knows
// nothing of a receiver that fails.
func (m *alerted) Alerting(yes bool) {
	m.held.Set(truth(yes))
	m.receivers.mu.Lock()
	defer m.receivers.mu.Unlock()
	for label := range m.receivers.present {
		m.up.WithLabelValues(label).Set(1)
	}
}

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

func (m *alerted) count(receiver, outcome string) {
	m.receivers.mu.Lock()
	defer m.receivers.mu.Unlock()
	label := m.series(receiver)
	m.deliveries.WithLabelValues(label, outcome).Inc()
	if m.receivers.present[label] {
		m.up.WithLabelValues(label).Set(truth(outcome == delivered))
	}
}

// series gives a receiver all of its counters, and returns its label. The receivers
// are locked.
func (m *alerted) series(name string) string {
	label := name
	if !m.receivers.known[name] && len(m.receivers.known) >= MaxReceivers {
		label = other
	} else {
		m.receivers.known[name] = true
	}
	for _, outcome := range []string{delivered, failed, givenUp} {
		m.deliveries.WithLabelValues(label, outcome)
	}
	return label
}
