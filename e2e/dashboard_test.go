//go:build unix

package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// dashboard is what is read of the dashboard for Grafana.
type dashboard struct {
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Type string }
	}
	Panels []dashboardPanel
}

type dashboardPanel struct {
	ID         int
	Title      string
	Type       string
	Datasource dashboardSource
	GridPos    struct{ X, Y, W, H int }
	Targets    []struct {
		RefID      string
		Datasource dashboardSource
		Instant    bool
		Format     string
	}
	FieldConfig struct {
		Defaults struct{ Unit string }
	}
	Options struct {
		GraphMode string
		Legend    *struct{ ShowLegend bool }
	}
	Transformations []struct{ ID string }
}

type dashboardSource struct{ Type, UID string }

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile(deployed(t, "grafana/countersign.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read dashboard
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// overlaps reports whether two panels cover one place.
func (p *dashboardPanel) overlaps(other *dashboardPanel) bool {
	a, b := p.GridPos, other.GridPos
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

// TestDashboard_isWhatGrafanaImports holds what importing and showing the dashboard
// needs. Where it stands in the types that Grafana publishes, it is named as there.
func TestDashboard_isWhatGrafanaImports(t *testing.T) {
	t.Parallel()
	read := readDashboard(t)
	if len(read.Templating.List) != 2 || read.Templating.List[0].Type != "datasource" || read.Templating.List[1].Name != "job" {
		t.Errorf("the variables are %+v", read.Templating.List)
	}
	if read.SchemaVersion != 39 || len(read.Panels) < 25 {
		t.Errorf("version %d with %d panels", read.SchemaVersion, len(read.Panels))
	}
	ids := map[int]bool{}
	for i := range read.Panels {
		panel := &read.Panels[i]
		if grid := panel.GridPos; ids[panel.ID] || panel.ID == 0 || grid.W < 1 || grid.H < 1 || grid.X < 0 || grid.X+grid.W > 24 {
			t.Errorf("%s has the id %d and stands at %+v", panel.Title, panel.ID, grid)
		}
		ids[panel.ID] = true
		for j := range i {
			if other := &read.Panels[j]; panel.overlaps(other) {
				t.Errorf("%s covers %s", panel.Title, other.Title)
			}
		}
		if panel.Type != "row" {
			checkPanel(t, panel)
		}
	}
}

// checkPanel checks a panel with queries.
func checkPanel(t *testing.T, panel *dashboardPanel) {
	t.Helper()
	chosen := dashboardSource{Type: "prometheus", UID: "${datasource}"}
	if panel.Datasource != chosen || len(panel.Targets) == 0 {
		t.Errorf("%s asks %+v with %d queries", panel.Title, panel.Datasource, len(panel.Targets))
	}
	if !slices.Contains([]string{"stat", "state-timeline", "timeseries", "table"}, panel.Type) {
		t.Errorf("%s is a %s", panel.Title, panel.Type)
	}
	if !slices.Contains([]string{"short", "s", "ops", "bytes", "percentunit"}, panel.FieldConfig.Defaults.Unit) {
		t.Errorf("%s is in %s", panel.Title, panel.FieldConfig.Defaults.Unit)
	}
	names := map[string]bool{}
	for _, target := range panel.Targets {
		if names[target.RefID] || target.RefID == "" || target.Datasource != chosen {
			t.Errorf("%s has the query %+v", panel.Title, target)
		}
		names[target.RefID] = true
		isInstant := panel.Type == "stat" || panel.Type == "table"
		if target.Instant != isInstant || (target.Format == "table") != (panel.Type == "table") {
			t.Errorf("%s has the query %+v", panel.Title, target)
		}
	}
	switch legend := panel.Options.Legend; {
	case panel.Type == "stat" && panel.Options.GraphMode != "none":
		t.Errorf("%s draws a graph of one moment", panel.Title)
	case panel.Type == "table" && (len(panel.Transformations) == 0 || panel.Transformations[0].ID != "merge"):
		t.Errorf("%s shows one of its %d queries alone", panel.Title, len(panel.Targets))
	case (panel.Type == "timeseries" || panel.Type == "state-timeline") && (legend == nil || !legend.ShowLegend):
		t.Errorf("%s has no legend", panel.Title)
	}
}
