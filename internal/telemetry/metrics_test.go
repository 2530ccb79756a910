package telemetry_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/feed"
	"github.com/countersign-dev/countersign/internal/httpapi"
	"github.com/countersign-dev/countersign/internal/mcpserver"
	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/telemetry"
)

// What tells of itself is told to the metrics.
var (
	_ patrol.Observer    = (*telemetry.Metrics)(nil)
	_ feed.Observer      = (*telemetry.Metrics)(nil)
	_ alert.Observer     = (*telemetry.Metrics)(nil)
	_ examiner.Observer  = (*telemetry.Metrics)(nil)
	_ mcpserver.Observer = (*telemetry.Calls)(nil)
	_ httpapi.Observer   = (*telemetry.Calls)(nil)
)

// update writes the golden file anew.
var update = flag.Bool("update", false, "write the golden file anew")

// scrape returns the lines that Prometheus reads of metrics of ours.
func scrape(t *testing.T, m *telemetry.Metrics) []string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if answer.Code != http.StatusOK {
		t.Fatalf("status %d: %s", answer.Code, answer.Body)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\ngo_goroutines ") {
		t.Error("the metrics of the Go runtime are missing")
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "countersign_") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// labelValue is the value of a label in a line.
var labelValue = regexp.MustCompile(`="(\\.|[^"])*"`)

// series returns the lines without their numbers.
func series(lines []string) []string {
	var names []string
	for _, line := range lines {
		if !strings.HasPrefix(line, "#") {
			line = line[:strings.LastIndexByte(line, ' ')]
		}
		names = append(names, line)
	}
	return names
}

func TestMetrics_namesAndLabelsAreTheContract(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/metrics.golden")
	if err != nil {
		t.Fatal(err)
	}
	m := telemetry.NewMetrics(telemetry.MetricsOptions{Version: "1.2.3", Now: noon, Readings: fleetOf(1), Tasks: someTasks()})
	m.Receivers([]string{"oncall"})
	before := series(scrape(t, m))
	occurred := registry.Summary{
		Outcome: registry.OutcomeFailed, Latency: time.Second, Causes: []registry.Cause{registry.Refused, registry.Timeout},
	}
	m.Examined(registry.KindMCPServer, occurred)
	m.Reloaded(false)
	m.Firing(map[string]int{"component": 1})
	m.Failed("oncall")
	after := series(scrape(t, m))
	var names []string
	for _, one := range after {
		// Each kind of component has the same metrics.
		if name := labelValue.ReplaceAllString(one, ""); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/metrics.golden", []byte(strings.Join(names, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(want), strings.Join(names, "\n")+"\n"); diff != "" {
		t.Errorf("metrics (-golden +got):\n%s", diff)
	}
	// Whatever happens, no label leaves its closed set, and no series appears but of
	// causes that occurred.
	isOfCauses := func(one string) bool { return strings.Contains(one, "probe_causes_total") }
	if causes := slices.DeleteFunc(slices.Clone(after), func(one string) bool { return strings.HasPrefix(one, "#") || !isOfCauses(one) }); len(causes) != 2 {
		t.Errorf("the series of causes are %q", causes)
	}
	if diff := cmp.Diff(before, slices.DeleteFunc(after, isOfCauses)); diff != "" {
		t.Errorf("series before and after use (-before +after):\n%s", diff)
	}
	m.Examined("teapot", registry.Summary{Outcome: "brewing", Causes: []registry.Cause{"hostile\n{}"}})
	m.Probed(registry.Summary{Parts: []registry.PartTime{{Part: "teapot"}}, Sessions: registry.Opened{Opened: -1}})
	m.OverMCP().Refused("E_TEAPOT")
	m.OverHTTP().Answered("/teapot", 999)
	m.Firing(map[string]int{"teapot": 1})
	for _, line := range scrape(t, m) {
		if strings.Contains(line, "teapot") || strings.Contains(line, "hostile") || strings.Contains(line, "brewing") {
			t.Errorf("a label has left its closed set: %s", line)
		}
	}
}

func TestMetrics_countWhatTheyAreTold(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(telemetry.MetricsOptions{Version: "1.2.3"})
	m.Holding(true)
	m.Started(3 * time.Millisecond)
	m.Started(7 * time.Second)
	m.Examined(registry.KindMCPServer, registry.Summary{Outcome: registry.OutcomePassed, Latency: 20 * time.Millisecond})
	m.Examined(registry.KindMCPServer, registry.Summary{Outcome: registry.OutcomeFailed, Causes: []registry.Cause{registry.ZeroTools}})
	m.Examined(registry.KindMCPServer, registry.Summary{Outcome: registry.OutcomeUndecided, Causes: []registry.Cause{registry.Denied}})
	m.Stored(256, 10*time.Millisecond)
	m.Stored(4, 10*time.Millisecond)
	m.Dropped(3)
	m.Reloaded(true)
	m.Reloaded(false)
	m.Probed(registry.Summary{
		Parts:    []registry.PartTime{{Part: "healthz", OK: true, Took: 3 * time.Millisecond}, {Part: "invoke", Took: time.Second}},
		Sessions: registry.Opened{Opened: 3, Ended: 2},
	})
	m.Waited(2 * time.Second)
	m.OverMCP().Refused(fault.SelfVerify)
	m.OverMCP().Refused("")
	m.OverHTTP().Refused(fault.TooLarge)
	m.OverHTTP().Answered("api", 201)
	m.OverHTTP().Answered("api", 404)
	m.Happened(feed.Event{Kind: feed.Task}, 20*time.Millisecond)
	m.Happened(feed.Event{Kind: "teapot"}, time.Second)
	m.Listeners(3)
	m.Alerting(true)
	m.Firing(map[string]int{"component": 2, "task": 1})
	m.Firing(map[string]int{"component": 1})
	m.Delivered("oncall", 3*time.Second)
	m.Failed("oncall")
	m.Failed("oncall")
	m.GivenUp("chat")
	lines := scrape(t, m)
	for _, want := range []string{
		`countersign_patrol_lease_held 1`,
		`countersign_patrol_lag_seconds_count 2`,
		`countersign_patrol_lag_seconds_bucket{le="0.005"} 1`,
		`countersign_patrol_probes_total{kind="mcp_server",outcome="passed"} 1`,
		`countersign_patrol_probes_total{kind="mcp_server",outcome="failed"} 1`,
		`countersign_patrol_probes_total{kind="mcp_server",outcome="undecided"} 1`,
		`countersign_patrol_probe_causes_total{cause="zero_tools",kind="mcp_server"} 1`,
		`countersign_patrol_probe_causes_total{cause="denied",kind="mcp_server"} 1`,
		`countersign_patrol_probe_duration_seconds_count{kind="mcp_server"} 3`,
		`countersign_patrol_results_stored_total 260`,
		`countersign_patrol_results_dropped_total 3`,
		`countersign_config_reloads_total{result="accepted"} 1`,
		`countersign_config_reloads_total{result="rejected"} 1`,
		`countersign_config_rejected 1`,
		`countersign_gate_duration_seconds_bucket{gate="healthz",le="0.005"} 1`,
		`countersign_gate_duration_seconds_bucket{gate="healthz",le="0.0025"} 0`,
		`countersign_gate_duration_seconds_sum{gate="invoke"} 1`,
		`countersign_gate_duration_seconds_count{gate="retrieve"} 0`,
		`countersign_probe_sessions_opened_total 3`,
		`countersign_probe_sessions_closed_total 2`,
		`countersign_store_writer_wait_seconds_sum 2`,
		`countersign_refusals_total{code="E_SELF_VERIFY",transport="mcp"} 1`,
		`countersign_refusals_total{code="malformed",transport="mcp"} 1`,
		`countersign_refusals_total{code="E_TOO_LARGE",transport="http"} 1`,
		`countersign_refusals_total{code="E_SELF_VERIFY",transport="http"} 0`,
		`countersign_http_requests_total{routes="api",status="2xx"} 1`,
		`countersign_http_requests_total{routes="api",status="4xx"} 1`,
		`countersign_feed_events_total{kind="task"} 1`,
		`countersign_feed_events_total{kind="other"} 1`,
		`countersign_feed_lag_seconds_sum 1.02`,
		`countersign_feed_listeners 3`,
		`countersign_alert_lease_held 1`,
		`countersign_alerts_firing{kind="component"} 1`,
		`countersign_alerts_firing{kind="task"} 0`,
		`countersign_alert_deliveries_total{outcome="delivered",receiver="oncall"} 1`,
		`countersign_alert_deliveries_total{outcome="failed",receiver="oncall"} 2`,
		`countersign_alert_deliveries_total{outcome="given_up",receiver="chat"} 1`,
		`countersign_alert_deliveries_total{outcome="delivered",receiver="chat"} 0`,
		`countersign_alert_delivery_duration_seconds_sum 3`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%s is not among\n%s", want, strings.Join(lines, "\n"))
		}
	}
	m.Holding(false)
	m.Reloaded(true)
	for _, want := range []string{`countersign_patrol_lease_held 0`, `countersign_config_rejected 0`} {
		if !slices.Contains(scrape(t, m), want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestMetrics_haveSeriesOfABoundedNumberOfReceivers(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(telemetry.MetricsOptions{})
	for i := range 2 * telemetry.MaxReceivers {
		m.Failed(fmt.Sprintf("r%d", i))
	}
	found := 0
	for _, line := range scrape(t, m) {
		if strings.HasPrefix(line, "countersign_alert_deliveries_total{") {
			found++
		}
	}
	if found != 3*(telemetry.MaxReceivers+1) {
		t.Errorf("%d series, want %d", found, 3*(telemetry.MaxReceivers+1))
	}
	if want := fmt.Sprintf(`countersign_alert_deliveries_total{outcome="failed",receiver="other"} %d`, telemetry.MaxReceivers); !slices.Contains(scrape(t, m), want) {
		t.Errorf("%s is missing", want)
	}
}

func TestMetrics_tellWhichReceiversAreDown(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(telemetry.MetricsOptions{})
	up := func() (found []string) {
		for _, line := range scrape(t, m) {
			if rest, is := strings.CutPrefix(line, "countersign_alert_receiver_up{receiver="); is {
				found = append(found, rest)
			}
		}
		return found
	}
	for i, step := range []struct {
		does func()
		want []string
	}{
		{func() { m.Failed("oncall") }, nil}, // no receiver of the configuration
		{func() { m.Receivers([]string{"oncall", "chat"}) }, []string{`"chat"} 1`, `"oncall"} 1`}},
		{func() { m.Failed("oncall") }, []string{`"chat"} 1`, `"oncall"} 0`}},
		{func() { m.GivenUp("chat") }, []string{`"chat"} 0`, `"oncall"} 0`}},
		{func() { m.Delivered("chat", time.Second) }, []string{`"chat"} 1`, `"oncall"} 0`}},
		{func() { m.Receivers([]string{"oncall", "mail"}) }, []string{`"mail"} 1`, `"oncall"} 0`}},
		{func() { m.Failed("chat") }, []string{`"mail"} 1`, `"oncall"} 0`}},
		{func() { m.Alerting(false) }, []string{`"mail"} 1`, `"oncall"} 1`}},
	} {
		step.does()
		if diff := cmp.Diff(step.want, up()); diff != "" {
			t.Errorf("after step %d (-want +got):\n%s", i, diff)
		}
	}
	if want := `countersign_alert_deliveries_total{outcome="failed",receiver="mail"} 0`; !slices.Contains(scrape(t, m), want) {
		t.Errorf("%s is missing, though nothing was told yet", want)
	}
}

func TestMetrics_knowEveryKindOfAlert(t *testing.T) {
	t.Parallel()
	lines := scrape(t, telemetry.NewMetrics(telemetry.MetricsOptions{}))
	for _, kind := range append(alert.Kinds(), alert.OfAlerts) {
		if want := fmt.Sprintf("countersign_alerts_firing{kind=%q} 0", kind); !slices.Contains(lines, want) {
			t.Errorf("%s is missing", want)
		}
	}
}
