package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/web"
)

// largestDrift has every tool of the largest list removed, changed or added, under
// names of strangers. What has changed of the last one is known.
func largestDrift() *registry.Drift {
	drift := &registry.Drift{Abridged: true}
	name := func(what string, i int) string { return longName(what, i) + strings.Repeat(worstReason, worstRepeated) }
	for i := range 5000 {
		drift.Added = append(drift.Added, name("added", i))
		drift.Removed = append(drift.Removed, name("removed", i))
		drift.Changed = append(drift.Changed, registry.ToolChange{Name: name("changed", i), What: []string{"description", "inputSchema"}})
	}
	text := []registry.TextChange{{What: "description", After: new("what it reads now")}}
	drift.Changed[4999].Texts = text
	drift.New = []registry.NewTool{{Name: drift.Added[4998], Texts: text}}
	return drift
}

func TestComponent_countsTheToolsThatChangedAndAreNotShown(t *testing.T) {
	view := registry.ComponentView{Reading: reading("scanner", registry.Available, time.Second), Drift: largestDrift()}
	page := visit(t, web.Options{Fleet: &fleetDouble{views: map[string]registry.ComponentView{"scanner": view}}}, "/components/scanner").Body.String()
	if len(page) > 256<<10 {
		t.Errorf("the page has %d bytes", len(page))
	}
	for _, wanted := range []string{
		"<bdi>" + longName("changed", 0), "<bdi>" + longName("changed", 4999), "<bdi>" + longName("added", 4998), "<bdi>" + longName("added", 0), "<bdi>" + longName("removed", 0),
		"And 4975 changed, 4974 added and 4975 removed tools more; <code>GET /api/v1/components/scanner</code> names all of them.",
	} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page does not say %s", wanted)
		}
	}
}

func TestComponent_countsNoToolsWhenAllThatChangedAreShown(t *testing.T) {
	if page := visit(t, foreign(asItIs).opened(t), "/components/scanner").Body.String(); !strings.Contains(page, "Tools changed") || strings.Contains(page, "names all of them") {
		t.Error("the page says that there are more tools")
	}
}
