package telemetry_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/telemetry"
)

// fleetOf has that many components: every third one fails, the others pass, and
// every second has drifted.
func fleetOf(number int) telemetry.Fleet {
	return func(context.Context) ([]registry.Reading, error) {
		readings := make([]registry.Reading, number)
		for i := range readings {
			readings[i] = registry.Reading{Name: fmt.Sprintf("c%d", i), Kind: registry.KindMCPServer, Status: registry.Available}
			if i%3 == 2 {
				readings[i].Status = registry.Unavailable
			}
			if i%2 == 1 {
				readings[i].Drifting = registry.DriftBlocks
			}
		}
		return readings, nil
	}
}

func TestMetrics_tellOfEachComponent(t *testing.T) {
	t.Parallel()
	lines := scrape(t, telemetry.NewMetrics(telemetry.MetricsOptions{Version: "1.2.3", Readings: fleetOf(3)}))
	for _, want := range []string{
		`countersign_components{kind="mcp_server",status="available"} 2`,
		`countersign_components{kind="mcp_server",status="unavailable"} 1`,
		`countersign_components{kind="mcp_server",status="unknown"} 0`,
		`countersign_components{kind="model",status="available"} 0`,
		`countersign_components_drifted 1`,
		`countersign_scrape_source_up{source="components"} 1`,
		`countersign_component_series_omitted 0`,
		`countersign_component_status{component="c2",status="unavailable"} 1`,
		`countersign_component_status{component="c2",status="available"} 0`,
		`countersign_component_status{component="c0",status="available"} 1`,
		`countersign_component_drifted{component="c1"} 1`,
		`countersign_component_drifted{component="c2"} 0`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%s is not among\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

func TestMetrics_leaveOutTheSeriesOfEachWhenThereAreMany(t *testing.T) {
	t.Parallel()
	for number, omitted := range map[int]bool{telemetry.MaxComponentSeries: false, telemetry.MaxComponentSeries + 1: true} {
		lines := scrape(t, telemetry.NewMetrics(telemetry.MetricsOptions{Version: "1.2.3", Readings: fleetOf(number)}))
		of := func(name string) (found int) {
			for _, line := range lines {
				if strings.HasPrefix(line, name) {
					found++
				}
			}
			return found
		}
		want := map[bool][2]int{false: {4 * number, number}, true: {0, 0}}[omitted]
		if got := [2]int{of("countersign_component_status{"), of("countersign_component_drifted{")}; got != want {
			t.Errorf("%d components have %v series, want %v", number, got, want)
		}
		told := map[bool]string{false: "countersign_component_series_omitted 0", true: "countersign_component_series_omitted 1"}[omitted]
		if !slices.Contains(lines, told) {
			t.Errorf("%d components: %s is missing", number, told)
		}
	}
}
