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
func readFleet(ctx context.Context, fleet Fleet) *prometheus.Registry {
	number := gauges("components", "Registered components, by kind and status.", "kind", "status")
	drifted := gauge("components_drifted", "Registered components whose tools are not the accepted ones.")
	readable := gauge("components_readable", "1 while what is known of the components can be read; while it is 0, all about them is missing.")
	omitted := gauge("component_series_omitted", "1 while there are so many components that the series of each of them are left out.")
	at := prometheus.NewRegistry()
	at.MustRegister(readable)
	readings, err := fleet(ctx)
	readable.Set(truth(err == nil))
	if err != nil {
		return at
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
	at.MustRegister(number, drifted, omitted)
	omitted.Set(truth(len(readings) > MaxComponentSeries))
	if len(readings) <= MaxComponentSeries {
		at.MustRegister(eachOf(readings)...)
	}
	return at
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
