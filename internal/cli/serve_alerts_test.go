package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestServe_logsAtItsStartWhatItsFileMayFailAt(t *testing.T) {
	s := newShell(t)
	inFolder(t, map[string]string{"countersign.yaml": "alerts: {webhooks: [{url: http://127.0.0.1:9, secret: env:ABSENT}]}\n"})
	server := s.serve(t)
	if code := server.end(t); code != exitYes {
		t.Errorf("serve ended with %d", code)
	}
	const want = "the secret at env:ABSENT cannot be had: the environment variable is not set"
	if log := server.log.String(); strings.Count(log, "the configuration has a warning") != 1 || !strings.Contains(log, want) || strings.Contains(log, "there is no configuration file") {
		t.Errorf("the log tells of no warning:\n%s", log)
	}
}

func TestServe_saysWhereNoFileIs(t *testing.T) {
	s := newShell(t)
	inFolder(t, nil)
	server := s.serve(t)
	if code := server.end(t); code != exitYes {
		t.Errorf("serve ended with %d", code)
	}
	if log := server.log.String(); !strings.Contains(log, "there is no configuration file") || !strings.Contains(log, `"countersign.yaml"`) || !strings.Contains(log, "needs a restart") {
		t.Errorf("the log says nothing of it:\n%s", log)
	}
}

func TestServe_tellsOnItsPagesWhoIsToldOfAlertsAndFromWhenAClaimIs(t *testing.T) {
	var taken atomic.Bool
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !taken.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(hook.Close)
	f := newFleet(t)
	f.third.broken.Store(true)
	server := f.serve(t)
	page := func(path string) string { _, body := ask(t, http.MethodGet, server.URL+path, "", nil); return body }
	_, out, _ := f.run("task", "create", "--title", "t", "--criterion", "c", "--agent-id", "a")
	id := strings.Fields(out)[1]
	if code, _, complaint := f.run("task", "claim", id, "--evidence", "e", "--agent-id", "a"); code != exitYes {
		t.Fatalf("claim %q: exit %d, %s", out, code, complaint)
	}
	if !strings.Contains(page("/connect"), "Nobody is told yet") || strings.Contains(page("/"), "Alerts ") || !strings.Contains(page("/tasks"), "waited for 1 h is marked") {
		t.Errorf("without receivers the pages tell of some:\n%s", page("/"))
	}

	rewrite(t, f.configuration()+"alerts: {claim_waits: 9h, webhooks: [{name: ops, url: \""+hook.URL+"/s3cret\"}]}\n")
	await(t, "the page tells of the receiver that fails", func() bool { return strings.Contains(page("/"), "Alerts do not arrive") })
	if shown := page("/"); !strings.Contains(shown, "<bdi>ops</bdi></strong>, a webhook, has not taken") || strings.Contains(shown, "s3cret") {
		t.Errorf("the page does not tell who fails, or too much:\n%s", shown)
	}
	if strings.Contains(page("/connect"), "Nobody is told yet") || !strings.Contains(page("/tasks"), "waited for 9 h is marked") {
		t.Error("the other pages do not know of the alerts")
	}

	taken.Store(true)
	await(t, "the page tells quietly of the receiver", func() bool { return strings.Contains(page("/"), "Alerts go to <bdi>ops</bdi>.") })
	if code := server.end(t); code != exitYes {
		t.Errorf("serve ended with %d; log:\n%s", code, server.log)
	}
}
