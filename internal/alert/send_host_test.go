package alert_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/registry"
)

// TestDeliver_receiversOfOneHostDoNotWaitForEachOther has all but one of them hang, at
// the same address.
func TestDeliver_receiversOfOneHostDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	var hanging atomic.Int64
	to := &endpoint{}
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/works" {
			hanging.Add(1)
			<-end
			return
		}
		answer, err := to.RoundTrip(r)
		if err == nil {
			_ = answer.Body.Close()
		}
	}))
	t.Cleanup(server.Close)
	defer close(end)
	settings := alert.Settings{Receivers: []alert.Receiver{{
		Name: "works", Protocol: alert.Webhook, URL: registry.SecretText(server.URL + "/works"), Send: []alert.Kind{alert.OfRun},
	}}}
	for i := range alert.MaxReceivers - 1 {
		settings.Receivers = append(settings.Receivers, alert.Receiver{
			Name: "hangs-" + string(rune('a'+i)), Protocol: alert.Webhook, URL: registry.SecretText(server.URL + "/hangs"), Send: []alert.Kind{alert.OfComponent},
		})
	}
	on := newDatabase("asm", "asm-eu")
	s := alerts(t, on, nil, settings, func(o *alert.Options) { o.Client = nil })
	until(t, "it alerts", s.observer.isAlerting)
	on.probed(t, "asm", false)
	until(t, "receivers hang", func() bool { return hanging.Load() > 1 })
	on.preflight("asm-eu")
	until(t, "the one that works is told", func() bool { return slices.Contains(to.told(), "run:nightly firing") })
	for _, one := range s.ReceiverStates() {
		if one.Failures > 0 {
			t.Errorf("before that, %s failed: %s", one.Receiver, one.Reason)
		}
	}
}
