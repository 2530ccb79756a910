package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/web"
)

// withoutScanner is a registry whose configuration names the scanner no more.
func withoutScanner(t *testing.T) *fleetDouble {
	t.Helper()
	fleet := foreign(asItIs).fleet(t)
	view := fleet.views["scanner"]
	view.Unregistered, view.Slots, view.Status, view.Since = true, nil, registry.Unknown, ""
	view.Reason, view.Drifting = "it is no longer registered; before that it had failed: no nmap", ""
	fleet.views["scanner"] = view
	fleet.registered = registry.Registered{}
	return fleet
}

// Alerts of a component link to its page for as long as they are kept.
func TestComponent_showsWhatWasKeptOfOneThatIsNoLongerRegistered(t *testing.T) {
	answer := visit(t, web.Options{Fleet: withoutScanner(t)}, "/components/scanner")
	page := answer.Body.String()
	for wanted, want := range map[string]bool{
		"No longer registered": true, "required tools unusable: nmap": true, "Changes of status": true, `id="history"`: true,
		"Probe now": false, "component accept": false, `id="fills"`: false,
	} {
		if strings.Contains(page, wanted) != want {
			t.Errorf("the page holds %q: %v, want %v", wanted, !want, want)
		}
	}
	if answer.Code != http.StatusOK {
		t.Errorf("it is answered with %d", answer.Code)
	}
}
