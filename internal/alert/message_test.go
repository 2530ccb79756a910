package alert

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/countersign-dev/countersign/internal/registry"
)

var update = flag.Bool("update", false, "write the expected messages anew")

// golden compares a document with the file that holds what is documented.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	var indented bytes.Buffer
	if err := json.Indent(&indented, got, "", "  "); err != nil {
		t.Fatal(err)
	}
	pretty := append(indented.Bytes(), '\n')
	if *update {
		if err := os.WriteFile(file, pretty, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(pretty)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestMessage_hasTheDocumentedForm(t *testing.T) {
	t.Parallel()
	var messages []Message
	var batch []pending
	for _, example := range Examples() {
		messages = append(messages, messageOf(&example, "https://countersign.example/"))
		batch = append(batch, pending{alert: example})
	}
	text, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "messages.json", text)
	text, err = alertmanagerBody(batch, "https://countersign.example", time.Date(2026, 11, 30, 9, 0, 30, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "alertmanager.json", text)
}

func TestMessage_fitsWhateverItSays(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\u202e\"\\<", 5000)
	preflight := registry.Preflight{Run: "nightly", Allowed: true}
	for range 100 {
		slot := registry.SlotResult{Slot: strings.Repeat("s", 64), OK: true, Fallback: true, Component: "filler"}
		for range 15 {
			slot.Attempts = append(slot.Attempts, registry.Attempt{Component: strings.Repeat("c", 64), Causes: []registry.Cause{registry.Refused}, Reason: long})
		}
		preflight.Slots = append(preflight.Slots, slot)
	}
	ofLong, _, err := ofRun(nil, &registry.KeptPreflight{At: time.Now(), Preflight: preflight}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	waits, err := ofClaim(&Claim{TaskID: "id", Title: long, ClaimedBy: "alice", ClaimedAt: time.Now()}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	causes := make([]registry.Cause, 1000)
	for i := range causes {
		causes[i] = registry.Refused
	}
	down, _, err := ofComponent(nil, &registry.Reading{Name: "asm", Status: registry.Unavailable, Reason: long, Causes: causes}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []pending{{alert: ofLong}, {alert: waits}, {alert: down}} {
		for _, protocol := range []Protocol{Webhook, Alertmanager} {
			if _, err := (maker{receiver: &Receiver{Protocol: protocol, URL: registry.SecretText("http://h")}}).request([]pending{p}, time.Now()); err != nil {
				t.Errorf("%s to a %s: %v", p.alert.Key, protocol, err)
			}
		}
	}
}

func TestTemplate_knowsTheFieldsAndFunctions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"text": {{json .summary}}, "at": {{time "15:04" .since | json}}}`: `{"text": "a claim has waited for its verdict for 24 hours", "at": "09:00"}`,
		`{{json .title}}`: `"Fix the \"flaky\" test"`,
		`[{{range $i, $c := .causes}}{{if $i}},{{end}}{{json $c.cause}}{{end}}]`: `[]`,
		`{{json .slots}}`: `[]`,
		`{"ended": {{if .ended_at}}1{{else}}0{{end}}}`:                                  `{"ended": 0}`,
		`{{define "x"}}{{printf "%s/%s" .kind .state | json}}{{end}}{{template "x" .}}`: `"task/firing"`,
	} {
		made, err := ParseTemplate(text, "")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		message := messageOf(&Examples()[4], "")
		got, err := made.render(&message, "")
		if err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
	plain, err := ParseTemplate("{{.summary}}", "text/plain; charset=utf-8")
	if err != nil || plain == nil {
		t.Error(err)
	}
}

// TestTemplate_comparesAsAlways compares what is weighed first.
func TestTemplate_comparesAsAlways(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]string{
		`eq .kind "task"`: "yes", `eq .kind "run" "task"`: "yes", `eq .kind .state`: "no", `.kind | eq "task"`: "yes", `ne .kind "task"`: "no",
		`lt .kind .state`: "no", `gt .kind "run"`: "yes", `le (len .causes) 0`: "yes", `ge 1 (len .title)`: "no", `eq .ended_at nil`: "yes",
		`eq (index .slots 0).slot "recon"`: "fails", `eq (len (printf "%s" .kind)) 4`: "yes", `eq .causes .slots`: "fails", `eq .kind 1`: "fails", `eq .kind`: "fails",
		`and (eq .kind "task") (not (eq .state "resolved"))`: "yes", `with .kind`: "fails",
	} {
		text := "{{if " + condition + "}}yes{{else}}no{{end}}"
		got := "fails"
		if made, err := ParseTemplate(text, "text/plain"); err == nil {
			message := messageOf(&Examples()[4], "")
			if body, err := made.render(&message, "text/plain"); err == nil {
				got = string(body)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", condition, got, want)
		}
	}
}

// TestTemplate_mayShowAllOfTheLongestMessage has a run with all that one may say.
func TestTemplate_mayShowAllOfTheLongestMessage(t *testing.T) {
	t.Parallel()
	made, err := ParseTemplate(`{{range $i, $s := .slots}}{{if $i}}, {{end}}{{$s.slot}} by {{$s.component}}{{range .failed}}{{if eq .component "scanner"}}!{{end}}
{{.component}}: {{.reason | printf "%.20s"}}{{range .causes}}{{if ne . "refused"}} {{. | js}}{{end}}{{end}}{{end}}{{end}}`, "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	longest := Examples()[2]
	failed := Failed{Component: strings.Repeat("c", 64), Reason: strings.Repeat("r", maxBrief), Causes: slices.Repeat([]registry.Cause{registry.MissingTool}, maxCauses)}
	longest.Content.Slots = slices.Repeat([]Fallback{{Slot: "recon", Component: failed.Component, Failed: slices.Repeat([]Failed{failed}, maxFailed)}}, maxFallbacks)
	message := messageOf(&longest, "")
	if _, err := made.render(&message, "text/plain"); err != nil {
		t.Error(err)
	}
}

func TestTemplate_refusesWhatFailsOrRunsAway(t *testing.T) {
	t.Parallel()
	const pair = `{{$x := printf "%60000d" 1}}{{$y := printf "%60000d" 1}}`
	for text, want := range map[string]string{
		`{{.summary`:                  "unclosed action",
		`{{.nothing}}`:                `map has no entry for key "nothing"`,
		`{{json .slots.name}}`:        "can't evaluate field",
		`{{exec "x"}}`:                `function "exec" not defined`,
		`{"a": "{{.title}}"}`:         "what it writes is not JSON",
		`{{time "15:04" "x"}}`:        "cannot parse",
		`{{range 2000000000}}{{end}}`: "steps",
		`{{range 100000}}{{range 100000}}{{end}}{{end}}`:                                                                     "steps",
		`{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`:                                                              "steps",
		`{{define "x"}}{{if .}}{{template "x" slice . 1}}{{template "x" slice . 1}}{{end}}{{end}}{{template "x" .alert_id}}`: "steps",
		`{{range 10000}}0123456789{{end}}`:                                                                                   "bytes",
		`{{$x := "0123456789"}}{{range 60}}{{$x = printf "%s%s" $x $x}}{{end}}{{json $x}}`:                                   "bytes",
		`{{$x := "<"}}{{range 60}}{{$x = html $x $x}}{{end}}`:                                                                "bytes",
		`{{printf "%0999999d" 1}}`:                                                                                           "bytes",
		`{{$x := printf "%60000d" 1}}{{len (print` + strings.Repeat(" $x", 20_000) + `)}}`:                                   "work on",
		`{{$x := printf "%60000d" 1}}{{range 10000}}{{$y := js $x}}{{end}}`:                                                  "work on",
		`{{$x := printf "%60000d" 1}}{{range 10000}}{{$y := json $x}}{{end}}`:                                                "work on",
		`{{$x := printf "%60000d" 1}}{{len (printf "` + strings.Repeat("%[1]s", 10_000) + `" $x)}}`:                          "work on",
		`{{printf "` + strings.Repeat("%60000[1]d", 6_000) + `" 1}}`:                                                         "work on",
		`{{range 10000}}{{$y := time "` + strings.Repeat("x", 1000) + `" $.since}}{{end}}`:                                   "work on",
		pair + `{{range 1000}}{{if eq $x $y}}{{end}}{{end}}`:                                                                 "work on",
		pair + `{{range 1000}}{{$z := $x | lt $y}}{{end}}`:                                                                   "work on",
		pair + `{{range 1000}}{{with $.causes}}{{if and true (ne $x $y)}}{{end}}{{end}}{{else}}{{end}}` + pair + `{{range 1000}}{{template "c" $x}}{{end}}{{define "c"}}{{if le . .}}{{end}}{{end}}`: "work on",
		pair + `{{range 1000}}{{$z := (slice (printf "%t" (ge $x $y)) 0).x}}{{end}}`:                                                                                                                 "can't evaluate field",
		pair + `{{range 1000}}{{$z := (index $.list (len (slice "" 0 0))).x}}{{end}}`:                                                                                                                "no entry for key",
		pair + `{{range 1000}}{{$z := slice (printf "%t" (eq $x $y)) 0 1}}{{end}}`:                                                                                                                   "work on",
		`{{range 300}}` + strings.Repeat(`{{$z := 1}}`, 100) + `{{end}}`:                                                                                                                             "steps",
		`{{range 300}}{{if ` + strings.Repeat("(not ", 100) + `1` + strings.Repeat(")", 100) + `}}{{end}}{{end}}`:                                                                                    "steps",
		`{{printf "%*d" 60000 1}}`:              "takes no width",
		strings.Repeat("x", MaxTemplateBytes+1): "it has more than 65536 bytes",
	} {
		began := time.Now()
		if _, err := ParseTemplate(text, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %v, want %s", text, err, want)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%.80s took %v", text, took)
		}
	}
}

func TestSign_isVerifiedByTheLibraryAndByNobodyWithAnotherSecret(t *testing.T) {
	t.Parallel()
	secret, other := "whsec_"+strings.Repeat("YWJj", 8), "whsec_"+strings.Repeat("ZGVm", 8)
	m := maker{
		receiver: &Receiver{Protocol: Webhook, URL: registry.SecretText("http://h"), Signing: registry.SecretAt("env:HOOK")},
		resolve:  func(string) (string, error) { return secret, nil },
	}
	example := Examples()[0]
	made, err := m.request([]pending{{alert: example}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if got := made.header.Get("webhook-id"); got != example.ID+".firing" {
		t.Errorf("the id is %s", got)
	}
	for key, want := range map[string]bool{secret: true, strings.TrimPrefix(secret, "whsec_"): true, other: false} {
		verifier, err := standardwebhooks.NewWebhook(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(made.body, made.header); (err == nil) != want {
			t.Errorf("verified: %v", err)
		}
		if err := verifier.Verify(append(made.body, ' '), made.header); err == nil {
			t.Error("an altered body is verified")
		}
	}
}

func TestRequest_saysWhichSecretCannotBeHadAndNeverRepeatsOne(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2-and-more"
	secrets := map[string]string{"env:LINES": hidden + "\r\nX-Evil: 1", "env:SHORT": "whsec_aHVudGVyMg==", "env:BARE": hidden, "env:URL": "ftp://" + hidden, "env:CTL": "http://h/\x01" + hidden}
	resolve := func(reference string) (string, error) {
		text, is := secrets[reference]
		if !is {
			return "", errors.New("the secret at " + reference + " cannot be had")
		}
		return text, nil
	}
	with := func(change func(*Receiver)) *Receiver {
		r := &Receiver{Protocol: Webhook, URL: registry.SecretText("http://h")}
		change(r)
		return r
	}
	for want, r := range map[string]*Receiver{
		"the header X-A: the secret at env:UNSET cannot be had": with(func(r *Receiver) { r.Headers = map[string]registry.Secret{"X-A": registry.SecretAt("env:UNSET")} }),
		"the header X-A (env:LINES) holds characters that no header may have": with(func(r *Receiver) {
			r.Headers = map[string]registry.Secret{"X-A": registry.SecretAt("env:LINES")}
		}),
		"the bearer token: the secret at env:UNSET cannot be had":                               with(func(r *Receiver) { r.Bearer = registry.SecretAt("env:UNSET") }),
		"the secret to sign with (env:SHORT) has fewer than 24 bytes":                           with(func(r *Receiver) { r.Signing = registry.SecretAt("env:SHORT") }),
		"the secret to sign with (env:BARE) is not in base64, with or without whsec_ before it": with(func(r *Receiver) { r.Signing = registry.SecretAt("env:BARE") }),
		"its url is not an address that begins with http:// or https://":                        with(func(r *Receiver) { r.URL = registry.SecretAt("env:URL") }),
		"its url is not an address that begins with http:// or https:// ":                       with(func(r *Receiver) { r.URL = registry.SecretAt("env:CTL") }),
	} {
		_, err := maker{receiver: r, resolve: resolve}.request([]pending{{alert: Examples()[0]}}, time.Now())
		if err == nil || err.Error() != strings.TrimSpace(want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
