//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAlertmanager_hearsFromCountersignItself has the server tell a real
// Alertmanager of a component that breaks, and that it is well again.
func TestAlertmanager_hearsFromCountersignItself(t *testing.T) {
	t.Parallel()
	double := newSceneServer("scanner", "1.0.0", sceneTool{"scan", "Scan a target.", "nmap"})
	alertmanager := startAlertmanager(t)
	folder := t.TempDir()
	configure(t, folder, fmt.Sprintf(`
components:
  scanner: {kind: mcp_server, url: %q, interval: 1s}
alerts:
  alertmanagers: [{name: oncall, url: %q}]
`, listenAs(t, double.handler()), alertmanager))
	serve := start(t, folder, environment(t), binary(), "serve", "--db", sqlite(t), "--listen", "127.0.0.1:0")
	address := serve.await(t, servedAt.String())[1]
	awaitMetric(t, address, `countersign_component_status{component="scanner",status="available"} 1`)
	if fires := alertsOf(t, alertmanager); len(fires) != 0 {
		t.Errorf("before anything broke, %v fires", fires)
	}

	double.mood.Store(int32(moodBroken))
	var fires []told
	eventually(t, "Alertmanager does not hear of the component", func() bool {
		fires = alertsOf(t, alertmanager)
		return len(fires) == 1
	})
	want := map[string]string{
		"alertname": "CountersignComponentUnavailable", "component": "scanner", "kind": "mcp_server", "severity": "critical",
		"cause": fires[0].Labels["cause"],
	}
	if diff := cmp.Diff(want, fires[0].Labels); diff != "" || want["cause"] == "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if fires[0].GeneratorURL != address+"/components/scanner" || !strings.HasPrefix(fires[0].Annotations["summary"], "scanner is unavailable") {
		t.Errorf("the alert says %v and leads to %s", fires[0].Annotations, fires[0].GeneratorURL)
	}
	if status, _ := fetch(t, fires[0].GeneratorURL); status != http.StatusOK {
		t.Errorf("the page of the alert = %d", status)
	}
	awaitMetric(t, address, `countersign_alerts_firing{kind="component"} 1`)

	double.mood.Store(int32(moodWell))
	eventually(t, "Alertmanager does not hear that the component is well again", func() bool { return len(alertsOf(t, alertmanager)) == 0 })
	awaitMetric(t, address, `countersign_alerts_firing{kind="component"} 0`)
	awaitMetric(t, address, `countersign_alert_receiver_up{receiver="oncall"} 1`)
	awaitMetric(t, address, `countersign_alert_deliveries_total{outcome="failed",receiver="oncall"} 0`)
}

// awaitMetric waits for a line of the metrics.
func awaitMetric(t *testing.T, address, line string) {
	t.Helper()
	eventually(t, "the metrics do not come to say "+line, func() bool {
		_, text := fetch(t, address+"/metrics")
		return strings.Contains(text, "\n"+line+"\n")
	})
}
