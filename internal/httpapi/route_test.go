package httpapi

import (
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestRoutes_thatProbeWaitForAProbe(t *testing.T) {
	probing := 0
	for _, each := range (API{Runs: struct{ Runs }{}, Components: struct{ unasked }{}}).routes(nil) {
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

// unasked is asked nothing.
type unasked interface{ Components }
