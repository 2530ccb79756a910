package web_test

import (
	"net/http"
	"testing"

	"github.com/countersign-dev/countersign/internal/web"
)

func TestPages_areThoseOfTheRoutes(t *testing.T) {
	served, err := web.Pages(web.Options{Tasks: &gateDouble{}, Agents: &countDouble{}, Fleet: &fleetDouble{}, Runs: &fleetDouble{}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, route := range web.Routes() {
		if served[route.Pattern] == nil {
			t.Errorf("%s is not served", route.Pattern)
		}
		mux.Handle(route.Pattern, http.NotFoundHandler())
		delete(served, route.Pattern)
	}
	for pattern := range served {
		t.Errorf("%s is served and no route", pattern)
	}
}
