package telemetry

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// sourceTime bounds the reading of each source of a scrape; they are read at the
// same time.
const sourceTime = 5 * time.Second

// The names of sources.
const (
	sourceComponents = "components"
	sourceTasks      = "tasks"
)

// source is what a scrape reads anew.
type source struct {
	name string
	read func(context.Context) ([]prometheus.Collector, error)
}

// sources are those that there are.
func (m *Metrics) sources() []source {
	var found []source
	if m.options.Readings != nil {
		found = append(found, source{sourceComponents, m.readFleet})
	}
	if m.options.Tasks != nil {
		found = append(found, source{sourceTasks, m.readTasks})
	}
	return found
}

// Handler serves the metrics in the formats of Prometheus. A source that cannot be
// read in its time leaves the others whole: countersign_scrape_source_up tells.
func (m *Metrics) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := prometheus.Gatherers{m.registry, m.gather(r.Context())}
		promhttp.HandlerFor(all, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
}

// gather reads all sources.
func (m *Metrics) gather(ctx context.Context) prometheus.Gatherer {
	ctx, cancel := context.WithTimeout(ctx, sourceTime)
	defer cancel()
	up := gauges("scrape_source_up", "1 when this source could be read for this scrape; when it is 0, all that comes from it is missing.", "source")
	gathered := prometheus.NewRegistry()
	gathered.MustRegister(up)
	sources := m.sources()
	found := make([][]prometheus.Collector, len(sources))
	var reading sync.WaitGroup
	for i, each := range sources {
		reading.Go(func() {
			collectors, err := each.read(ctx)
			up.WithLabelValues(each.name).Set(truth(err == nil))
			if err == nil {
				found[i] = collectors
			}
		})
	}
	reading.Wait()
	for _, collectors := range found {
		gathered.MustRegister(collectors...)
	}
	return gathered
}
