package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/registry"
)

func TestAlerts_areReadWhole(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "chat.tmpl"), []byte(`{"text": {{json .summary}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, invalid := parse("file.yaml", folder, `
alerts:
  public_url: https://countersign.example/at
  claim_waits: off
  webhooks:
    - {name: ops, url: "https://hooks.example/x?y=z", secret: env:HOOK_SECRET, headers: {x-token: env:HOOK_TOKEN}}
    - {url: file:hook, template_file: chat.tmpl, send: [run]}
    - {url: "http://127.0.0.1:1", template: "{{.summary}}", content_type: text/plain}
  alertmanagers:
    - {url: "http://127.0.0.1:9093/am", username: ops, password: env:PASSWORD}
    - {name: far, url: "https://am.example", bearer: env:TOKEN}
`)
	if invalid != nil {
		t.Fatal(invalid)
	}
	want := alert.Settings{
		PublicURL: "https://countersign.example/at",
		Receivers: []alert.Receiver{
			{
				Name: "ops", Protocol: alert.Webhook, URL: registry.SecretText("https://hooks.example/x?y=z"), Signing: registry.SecretAt("env:HOOK_SECRET"),
				Headers: map[string]registry.Secret{"X-Token": registry.SecretAt("env:HOOK_TOKEN")},
			},
			{Name: "webhook-2", Protocol: alert.Webhook, URL: registry.SecretAt("file:" + filepath.Join(folder, "hook")), Send: []alert.Kind{alert.OfRun}},
			{Name: "webhook-3", Protocol: alert.Webhook, URL: registry.SecretText("http://127.0.0.1:1"), ContentType: "text/plain"},
			{
				Name: "alertmanager-1", Protocol: alert.Alertmanager, URL: registry.SecretText("http://127.0.0.1:9093/am"),
				Username: registry.SecretText("ops"), Password: registry.SecretAt("env:PASSWORD"),
			},
			{Name: "far", Protocol: alert.Alertmanager, URL: registry.SecretText("https://am.example"), Bearer: registry.SecretAt("env:TOKEN")},
		},
	}
	if diff := cmp.Diff(want, loaded.Alerts, cmpopts.IgnoreFields(alert.Receiver{}, "Template")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, shown := range []string{"https://hooks.example/…", "file:" + filepath.Join(folder, "hook"), "http://127.0.0.1:1", "http://127.0.0.1:9093/…", "https://am.example"} {
		if got := ShowReceiver(&loaded.Alerts.Receivers[i]); got != shown {
			t.Errorf("receiver %d is shown as %s, want %s", i, got, shown)
		}
	}
	for i, has := range []bool{false, true, true, false, false} {
		if (loaded.Alerts.Receivers[i].Template != nil) != has {
			t.Errorf("receiver %d has a template: %v", i, !has)
		}
	}
}

func TestAlerts_waitADayForClaimsUnlessTheFileSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "alerts: {}": alert.DefaultClaimWaits, "alerts: {claim_waits: 90m}": 90 * time.Minute,
		"alerts: {claim_waits: off}": 0, `alerts: {claim_waits: "off"}`: 0,
	} {
		loaded, invalid := parse("file.yaml", "/srv", text)
		if invalid != nil {
			t.Error(invalid)
		} else if got := loaded.Alerts.ClaimWaits; got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestWarnings_tellOfReceiversThatAreLikelyToFail(t *testing.T) {
	t.Parallel()
	loaded, invalid := parse("file.yaml", "/srv", `
alerts:
  webhooks:
    - {url: "http://hooks.example", secret: env:SHORT}
    - {url: "http://127.0.0.1:1", secret: env:GOOD, headers: {X-A: env:GOOD}}
    - {url: "http://hooks.example", secret: env:BARE, headers: {X-A: env:GOOD}}
  alertmanagers:
    - {url: env:CLEAR, bearer: env:GOOD}
    - {url: env:UNSET}
`)
	if invalid != nil {
		t.Fatal(invalid)
	}
	variables := map[string]string{"SHORT": "whsec_c2hvcnQ=", "GOOD": "whsec_" + strings.Repeat("YWJj", 8), "BARE": "not base64!", "CLEAR": "http://am.example"}
	var got []string
	for _, warning := range loaded.Warnings(Resolver{Lookup: func(name string) (string, bool) { value, ok := variables[name]; return value, ok }}) {
		got = append(got, warning.Error())
		for _, secret := range variables {
			if strings.Contains(warning.String(), secret) {
				t.Errorf("a warning repeats a secret: %s", warning)
			}
		}
	}
	want := []string{
		"file.yaml:4:45: the secret has fewer than 24 bytes",
		"file.yaml:6:13: the credentials are sent there in the clear",
		"file.yaml:6:45: the secret is not in base64, with or without whsec_ before it",
		"file.yaml:8:13: the credentials are sent there in the clear",
		"file.yaml:9:13: the secret at env:UNSET cannot be had: the environment variable is not set",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
