package cli

import (
	"net/http"
	"strings"
	"testing"
)

func TestServe_logsTheRequestsOfProbesWhenAsked(t *testing.T) {
	for level, want := range map[string]bool{"debug": true, "info": false, "error": false} {
		server := newShell(t).serve(t, "--log-level", level)
		ask(t, http.MethodGet, server.Healthz, "", nil)
		server.end(t)
		if log := server.log.String(); strings.Contains(log, `"path":"/healthz"`) != want || strings.Contains(log, `"msg":"serving"`) != (level != "error") {
			t.Errorf("--log-level %s: the log is\n%s", level, log)
		}
	}
}

func TestServe_tellsOfItsComponentsOnThePageInMetricsAndInTheLog(t *testing.T) {
	f := newFleet(t)
	f.third.broken.Store(true)
	server := f.serve(t)
	get := func(url string) string { _, body := ask(t, http.MethodGet, url, "", nil); return body }
	await(t, "the metrics tell of all", func() bool {
		return strings.Contains(get(server.Metrics), `countersign_component_status{component="writer",status="unavailable"} 1`)
	})
	page := get(server.URL + "/connect")
	for _, wanted := range []string{server.Registry, "--registry", server.Config} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page holds no %s", wanted)
		}
	}
	metrics := get(server.Metrics)
	for _, wanted := range []string{
		`countersign_components{kind="mcp_server",status="available"} 2`, `countersign_component_status{component="writer",status="unavailable"} 1`,
		`countersign_component_drifted{component="asm"} 0`,
	} {
		if !strings.Contains(metrics, wanted+"\n") {
			t.Errorf("the metrics hold no %s:\n%s", wanted, metrics)
		}
	}
	f.third.broken.Store(false)
	second := f.serve(t)
	await(t, "the other stands by", func() bool { return strings.Contains(second.log.String(), "this one stands by") })
	server.end(t)
	await(t, "the other takes over", func() bool { return strings.Contains(get(second.Metrics), "\ncountersign_patrol_lease_held 1\n") })
	second.end(t)
	for log, wanted := range map[string][]string{
		server.log.String(): {
			`"level":"WARN","msg":"the status of a component has changed","component":"writer","from":"probing","to":"unavailable"`,
			`"level":"INFO","msg":"the status of a component has changed","component":"asm","from":"probing","to":"available"`,
		},
		second.log.String(): {`"msg":"another process patrols; this one stands by","holder":"` + server.URL + ` of process `, `"msg":"this process patrols now"`},
	} {
		for _, each := range wanted {
			if !strings.Contains(log, each) {
				t.Errorf("the log holds no %s:\n%s", each, log)
			}
		}
		for _, unwanted := range []string{`"path":"/metrics"`, `"path":"/healthz"`} {
			if strings.Contains(log, unwanted) {
				t.Errorf("the log holds %s", unwanted)
			}
		}
	}
}
