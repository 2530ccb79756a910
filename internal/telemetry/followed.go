package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/feed"
)

// followed is what this process read of the feed.
type followed struct {
	events    *prometheus.CounterVec
	lag       prometheus.Histogram
	listeners prometheus.Gauge
}

func newFollowed() followed {
	f := followed{
		events:    counters("feed_events_total", "Events that this process read in their turn, by what they are about.", "kind"),
		lag:       histogram("feed_lag_seconds", "How long after it happened an event was read.", lagBuckets()),
		listeners: gauge("feed_listeners", "Subscriptions to the events, such as open pages."),
	}
	for _, kind := range feed.Kinds() {
		f.events.WithLabelValues(string(kind))
	}
	return f
}

func (m *followed) all() []prometheus.Collector {
	return []prometheus.Collector{m.events, m.lag, m.listeners}
}

// Happened tells of an event, and how long ago it happened.
func (m *followed) Happened(event feed.Event, lag time.Duration) {
	m.events.WithLabelValues(within(event.Kind, feed.Kinds())).Inc()
	m.lag.Observe(lag.Seconds())
}

// Listeners tells how many subscriptions there are.
func (m *followed) Listeners(n int) { m.listeners.Set(float64(n)) }
