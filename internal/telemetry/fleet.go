package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/countersign-dev/countersign/internal/registry"
)

// MaxComponentSeries is of how many components there are series of each; when
// there are more, only their numbers are told.
const MaxComponentSeries = 1000

// Fleet reads all registered components.
type Fleet func(context.Context) ([]registry.Reading, error)

// readFleet returns the metrics of the components as they are now.
func (m *Metrics) readFleet(ctx context.Context) ([]prometheus.Collector, error) {
	number := gauges("components", "Registered components, by kind and status.", "kind", "status")
	drifted := gauge("components_drifted", "Registered components whose tools are not the accepted ones.")
	omitted := gauge("component_series_omitted", "1 while there are so many components that the series of each of them are left out.")
	readings, err := m.options.Readings(ctx)
	if err != nil {
		return nil, err
	}
	for _, kind := range registry.Kinds() {
		for _, status := range registry.Statuses() {
			number.WithLabelValues(string(kind), string(status))
		}
	}
	for i := range readings {
		one := &readings[i]
		number.WithLabelValues(within(one.Kind, registry.Kinds()), within(one.Status, registry.Statuses())).Inc()
		drifted.Add(truth(one.Drifting != ""))
	}
	omitted.Set(truth(len(readings) > MaxComponentSeries))
	all := []prometheus.Collector{number, drifted, omitted}
	if len(readings) <= MaxComponentSeries {
		all = append(all, eachOf(readings)...)
	}
	return all, nil
}

// eachOf returns the metrics of each component.
func eachOf(readings []registry.Reading) []prometheus.Collector {
	status := gauges("component_status", "1 for the status that the component has, 0 for the others.", "component", "status")
	drifted := gauges("component_drifted", "1 while the tools of the component are not the accepted ones.", "component")
	for i := range readings {
		one := &readings[i]
		for _, each := range registry.Statuses() {
			status.WithLabelValues(one.Name, string(each)).Set(truth(one.Status == each))
		}
		drifted.WithLabelValues(one.Name).Set(truth(one.Drifting != ""))
	}
	return []prometheus.Collector{status, drifted}
}
