package httpapi

import (
	"slices"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestRoutes_thatProbeWaitForAProbe(t *testing.T) {
	probing := 0
	routes, _ := API{Runs: struct{ Runs }{}, Components: struct{ unasked }{}}.routes(nil)
	for _, each := range routes {
		if each.group != probes {
			continue
		}
		if probing++; each.limit != registry.MaxProbeWait {
			t.Errorf("%s ends after %v", each.path, each.limit)
		}
	}
	if probing != 2 {
		t.Errorf("%d routes probe", probing)
	}
}

// unasked and uncounted are asked nothing.
type (
	unasked   interface{ Components }
	uncounted interface{ Agents }
)

func TestRoutes_thatListGoOnByCursor(t *testing.T) {
	api := API{Tasks: struct{ Tasks }{}, Agents: struct{ uncounted }{}, Runs: struct{ Runs }{}, Components: struct{ unasked }{}}
	lists := 0
	routes, _ := api.routes(nil)
	for _, each := range routes {
		takes := func(name string) bool {
			return slices.ContainsFunc(each.parameters, func(p parameter) bool { return p.Name == name })
		}
		_, leads := each.headers["Link"]
		if takes("limit") != takes("cursor") || takes("cursor") != leads {
			t.Errorf("%s takes a limit: %v, a cursor: %v, and leads to the next page: %v", each.id, takes("limit"), takes("cursor"), leads)
		}
		if leads {
			lists++
		}
	}
	if lists != 7 {
		t.Errorf("%d operations list, want 7", lists)
	}
}
