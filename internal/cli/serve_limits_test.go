package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestServe_takesTheLimitsOfAChangedFile has two components hang, of which one may
// be probed at a time until the file permits both. What is doubtful in it is told.
func TestServe_takesTheLimitsOfAChangedFile(t *testing.T) {
	var hanging atomic.Int64
	release := make(chan struct{})
	deaf := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/healthz") {
			hanging.Add(1)
			defer hanging.Add(-1)
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(deaf.Close)
	t.Cleanup(func() { close(release) })
	f := newFleet(t)
	components := "components:\n"
	for _, name := range []string{"one", "two"} {
		components += "  " + name + ": {kind: mcp_server, url: " + deaf.URL + "/" + name + ", timeout: 5m}\n"
	}
	rewrite(t, "patrol: {concurrency: 1}\n"+components)
	server := f.serve(t)
	await(t, "one is probed", func() bool { return hanging.Load() > 0 })
	rewrite(t, "patrol: {concurrency: 2}\n"+components+
		"  three: {kind: mcp_server, url: "+deaf.URL+", interval: 1h, credentials: {bearer: env:ABSENT}}\n")
	if got := hanging.Load(); got != 1 {
		t.Errorf("%d are probed at once, want 1", got)
	}
	await(t, "both are probed at once", func() bool { return hanging.Load() == 2 })
	if code := server.end(t); code != exitYes {
		t.Errorf("serve ended with %d", code)
	}
	if log := server.log.String(); !strings.Contains(log, "the configuration has a warning") || !strings.Contains(log, "ABSENT") {
		t.Errorf("the log tells of no warning:\n%s", log)
	}
}
