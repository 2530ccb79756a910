package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/web"
)

// A page gives no probe up that a program would wait for.
func TestProbeNow_waitsAsLongAsPrograms(t *testing.T) {
	fleet := foreign(asItIs).fleet(t)
	pages, err := web.Pages(web.Options{Fleet: fleet})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for pattern, page := range pages {
		mux.Handle(pattern, page)
	}
	synctest.Test(t, func(t *testing.T) {
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/components/writer/probe", nil))
	})
	if fleet.waits != registry.MaxProbeWait || fleet.waits <= registry.MaxTimeout {
		t.Errorf("the page waits for %v, a program for %v, and a gate for at most %v", fleet.waits, registry.MaxProbeWait, registry.MaxTimeout)
	}
}
