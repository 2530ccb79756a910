//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPrometheus_scrapesServeAndAlerts has a real Prometheus scrape the real
// server, answer every query of the rules and the dashboard, and tell a real
// Alertmanager of a component that does not work.
func TestPrometheus_scrapesServeAndAlerts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	configure(t, folder, "components:\n  gone: {kind: mcp_server, url: 'http://127.0.0.1:1', interval: 2s}\n")
	serve := start(t, folder, environment(t), binary(), "serve", "--db", sqlite(t), "--listen", "127.0.0.1:0")
	address := serve.await(t, servedAt.String())[1]
	checkScrape(t, address)

	alertmanager := startAlertmanager(t)
	prometheus := startPrometheus(t, strings.TrimPrefix(address, "http://"), strings.TrimPrefix(alertmanager, "http://"))
	eventually(t, "Prometheus does not see that the component is unavailable", func() bool {
		return len(prometheus.ask(t, `countersign_component_status{component="gone",status="unavailable"} == 1`)) == 1
	})
	for place, query := range dashboardQueries(t) {
		prometheus.ask(t, query)
		if t.Failed() {
			t.Fatalf("this is the query of %s", place)
		}
	}
	for _, name := range []string{"countersign_tasks", "countersign_refusals_total", "countersign_patrol_lag_seconds_count", "countersign_rollup_age_seconds", "countersign_gate_duration_seconds_count"} {
		if len(prometheus.ask(t, name)) == 0 {
			t.Errorf("Prometheus has no %s", name)
		}
	}
	eventually(t, "opened and ended sessions do not meet", func() bool {
		return len(prometheus.ask(t, "countersign_probe_sessions_opened_total == countersign_probe_sessions_closed_total")) == 1
	})
	eventually(t, "Alertmanager does not hear of the component", func() bool {
		for _, alert := range alertsOf(t, alertmanager) {
			if alert.Labels["alertname"] == "CountersignComponentUnavailable" && alert.Labels["component"] == "gone" {
				return strings.Contains(alert.Annotations["hint"], "countersign component show gone")
			}
		}
		return false
	})
	// What is well is not told; what a busy machine makes late may be.
	well := []string{
		"CountersignComponentUnknown", "CountersignComponentsUnavailable", "CountersignComponentDrifted", "CountersignSessionsLeak",
		"CountersignClaimWaits", "CountersignRefusalsSpike", "CountersignInternalErrors", "CountersignConfigRejected", "CountersignAlertsGivenUp",
	}
	for _, alert := range alertsOf(t, alertmanager) {
		if name := alert.Labels["alertname"]; slices.Contains(well, name) {
			t.Errorf("%s fires: %v", name, alert.Annotations)
		}
	}
	for _, name := range well {
		if alertRules(t)[name] == "" {
			t.Errorf("there is no rule %s", name)
		}
	}
	if code := serve.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("serve ended with %d", code)
	}
}

// checkScrape has promtool look at what Prometheus would read.
func checkScrape(t *testing.T, address string) {
	t.Helper()
	status, text := fetch(t, address+"/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics = %d", status)
	}
	check := exec.CommandContext(t.Context(), needed(t, "promtool"), "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if said, err := check.CombinedOutput(); err != nil || len(said) != 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, said)
	}
}

// scraper is a Prometheus that runs.
type scraper struct{ address string }

// soon makes rules fire at once that would wait for minutes.
var soon = regexp.MustCompile(`(?m)^        for: \d+m$`)

// startPrometheus runs one that scrapes the target each second, under the rules
// of deploy.
func startPrometheus(t *testing.T, target, alertmanager string) *scraper {
	t.Helper()
	folder := t.TempDir()
	rules, err := os.ReadFile(deployed(t, "prometheus/rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if !soon.Match(rules) {
		t.Fatal("no rule waits")
	}
	writeFile(t, filepath.Join(folder, "rules.yml"), soon.ReplaceAllString(string(rules), "        for: 2s"))
	shown, err := os.ReadFile(deployed(t, "prometheus/prometheus.yml"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "prometheus.yml"),
		strings.NewReplacer("15s", "1s", "127.0.0.1:8484", target, "127.0.0.1:9093", alertmanager).Replace(string(shown)))
	listen := freeAddress(t)
	start(t, folder, environment(t), needed(t, "prometheus"), "--config.file=prometheus.yml", "--storage.tsdb.path=data",
		"--web.listen-address="+listen, "--log.level=warn")
	awaitReady(t, "http://"+listen+"/-/ready")
	return &scraper{"http://" + listen}
}

// ask returns the series that answer a query. A query that is refused fails the
// test.
func (s *scraper) ask(t *testing.T, query string) []json.RawMessage {
	t.Helper()
	status, body := fetch(t, s.address+"/api/v1/query?query="+url.QueryEscape(query))
	var answer struct {
		Status string
		Error  string
		Data   struct{ Result []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || answer.Status != "success" {
		t.Errorf("the query %s = %d %s (%v)", query, status, body, err)
	}
	return answer.Data.Result
}

// startAlertmanager runs one and returns its address.
func startAlertmanager(t *testing.T) string {
	t.Helper()
	folder, listen := t.TempDir(), freeAddress(t)
	writeFile(t, filepath.Join(folder, "alertmanager.yml"), "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
	start(t, folder, environment(t), needed(t, "prometheus-alertmanager"), "--config.file=alertmanager.yml", "--storage.path=data",
		"--cluster.listen-address=", "--web.listen-address="+listen, "--log.level=warn")
	awaitReady(t, "http://"+listen+"/-/ready")
	return "http://" + listen
}

// told is an alert as Alertmanager has it.
type told struct {
	Labels, Annotations map[string]string
	EndsAt              time.Time
	GeneratorURL        string
	Status              struct{ State string }
}

// alertsOf returns what fires at an Alertmanager.
func alertsOf(t *testing.T, address string) []told {
	t.Helper()
	status, body := fetch(t, address+"/api/v2/alerts")
	var alerts []told
	if err := json.Unmarshal([]byte(body), &alerts); err != nil || status != http.StatusOK {
		t.Fatalf("the alerts = %d %s (%v)", status, body, err)
	}
	return alerts
}

// freeAddress is an address of this machine at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// awaitReady waits for a server that has just been started.
func awaitReady(t *testing.T, address string) {
	t.Helper()
	eventually(t, fmt.Sprintf("nothing answers at %s", address), func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			return false
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}
