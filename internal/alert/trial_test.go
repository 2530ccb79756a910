package alert_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

const trialKey = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// TestTry_tellsEachReceiverOnceAndSaysWhatCameOfIt has receivers that take it, that
// refuse it, and that cannot even be asked.
func TestTry_tellsEachReceiverOnceAndSaysWhatCameOfIt(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	taken := map[string][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mutex.Lock()
		defer mutex.Unlock()
		if _, again := taken[r.URL.Path]; again || err != nil {
			t.Errorf("%s was asked again, or wrote half: %v", r.URL.Path, err)
		}
		taken[r.URL.Path] = body
		switch r.URL.Path {
		case "/refuses":
			w.WriteHeader(http.StatusForbidden)
		case "/chat":
			w.WriteHeader(http.StatusAccepted)
		case "/signed":
			verifier, err := standardwebhooks.NewWebhook(trialKey)
			if err != nil || verifier.VerifyIgnoringTimestamp(body, r.Header) != nil {
				t.Error("the test is not signed as alerts are")
			}
		}
	}))
	t.Cleanup(server.Close)
	template, err := alert.ParseTemplate(`{"text": {{json .summary}}}`, "")
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) registry.Secret { return registry.SecretText(server.URL + path) }
	settings := alert.Settings{PublicURL: "https://countersign.example", Receivers: []alert.Receiver{
		{Name: "signed", Protocol: alert.Webhook, URL: at("/signed"), Signing: registry.SecretText(trialKey)},
		{Name: "chat", Protocol: alert.Webhook, URL: at("/chat"), Template: template, Send: []alert.Kind{alert.OfRun}},
		{Name: "refuses", Protocol: alert.Webhook, URL: at("/refuses")},
		{Name: "unset", Protocol: alert.Webhook, URL: at("/unset"), Signing: registry.SecretAt("env:UNSET")},
		{Name: "prometheus", Protocol: alert.Alertmanager, URL: at("")},
	}}
	resolve := func(string) (string, error) { return "", fault.New(fault.Unavailable, "the secret cannot be had") }
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	var got []string
	for _, trial := range alert.Try(t.Context(), &settings, resolve, now) {
		said := fmt.Sprintf("%d taken", trial.Status)
		if trial.Err != nil {
			said = fmt.Sprintf("%d %v", trial.Status, trial.Err)
		}
		got = append(got, trial.Receiver+": "+said)
	}
	want := []string{
		"signed: 200 taken", "chat: 202 taken", "refuses: 403 it answered with the status 403",
		"unset: 0 the secret to sign with: the secret cannot be had", "prometheus: 200 taken",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trials (-want +got):\n%s", diff)
	}
	checkTests(t, taken)
}

// checkTests looks at what was posted, by path.
func checkTests(t *testing.T, taken map[string][]byte) {
	t.Helper()
	var message alert.Message
	if err := json.Unmarshal(taken["/signed"], &message); err != nil || message.Kind != alert.OfTest || message.State != alert.Firing ||
		message.Severity != "info" || message.ID == "" || !strings.Contains(message.Summary, "nothing is wrong") || message.URL != "https://countersign.example/connect" {
		t.Errorf("the webhook was told %s", taken["/signed"])
	}
	if !strings.Contains(string(taken["/chat"]), "this is a test") {
		t.Errorf("the chat was told %s", taken["/chat"])
	}
	var posted []struct {
		Labels map[string]string `json:"labels"`
		EndsAt time.Time         `json:"endsAt"`
	}
	if err := json.Unmarshal(taken["/api/v2/alerts"], &posted); err != nil || len(posted) != 1 ||
		posted[0].Labels["alertname"] != "CountersignTest" || posted[0].Labels["severity"] != "info" || posted[0].EndsAt.IsZero() {
		t.Errorf("the Alertmanager was told %s", taken["/api/v2/alerts"])
	}
	if _, asked := taken["/unset"]; asked {
		t.Error("a receiver was told without the signature")
	}
}
