package httpapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/countersign-dev/countersign/internal/schema"
)

var update = flag.Bool("update", false, "write what the API says into testdata")

// Every route of the document is asked, and each answer is held against its schema
// in the document.
func TestAPI_answersAsRecordedAndAsItDescribes(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	described := describedBy(t, f)
	visited := map[string]bool{"streamEvents": true} // TestEvents
	names, recorded := &aliases{}, &strings.Builder{}
	ask := func(a asking) string {
		answer, body := f.ask(t, a)
		visited[a.operation] = true
		described.check(t, a, answer, body)
		fmt.Fprintf(recorded, "-- %s --\n> %s %s\n", a.operation, a.method, names.in(a.path))
		if a.body != "" {
			fmt.Fprintf(recorded, "> %s\n", names.in(a.body))
		}
		fmt.Fprintf(recorded, "< %d %s\n", answer.StatusCode, answer.Header.Get("Content-Type"))
		for _, name := range []string{"Location", "Link"} {
			if value := answer.Header.Get(name); value != "" {
				fmt.Fprintf(recorded, "< %s: %s\n", name, names.in(value))
			}
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, scrubbed(t, json.RawMessage(body)), "", "  "); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(recorded, "%s\n", names.in(pretty.String()))
		return body
	}
	story(t, f, ask)
	for _, operation := range described.operations {
		if !visited[operation] {
			t.Errorf("%s is not asked", operation)
		}
	}
	golden(t, "answers.txt", recorded.String())
}

// story asks every route. Some are asked for what they refuse.
func story(t *testing.T, f *fleet, ask func(asking) string) {
	t.Helper()
	id := func(body string) string {
		var made struct {
			TaskID   string `json:"task_id"`
			ResultID string `json:"result_id"`
		}
		if err := json.Unmarshal([]byte(body), &made); err != nil {
			t.Fatal(err)
		}
		return made.TaskID + made.ResultID
	}
	ask(asking{"listComponents", "GET", "/components", ""})
	ask(asking{"getComponent", "GET", "/components/docs", ""})
	first := id(ask(asking{"createTask", "POST", "/tasks", `{"title":"Ship <b>it</b>","acceptance_criteria":["GET /healthz returns 200"],"created_by":"lead","idempotency_key":"k"}`}))
	ask(asking{"claimTask", "POST", "/tasks/" + first + "/claim", `{"agent_id":"builder","evidence":"commit 1"}`})
	ask(asking{"decideTask", "POST", "/tasks/" + first + "/verdict", `{"verifier_agent_id":"builder","verdict":"verified"}`})
	ask(asking{"decideTask", "POST", "/tasks/" + first + "/verdict", `{"verifier_agent_id":"reviewer","verdict":"rejected"}`})
	ask(asking{"decideTask", "POST", "/tasks/" + first + "/verdict", `{"verifier_agent_id":"reviewer","verdict":"rejected","notes":"it returns 500"}`})
	second := id(ask(asking{"createTask", "POST", "/tasks", `{"title":"Ship it again","acceptance_criteria":["GET /healthz returns 200"],"created_by":"lead","supersedes":"` + first + `"}`}))
	ask(asking{"getTask", "GET", "/tasks/" + first, ""})
	ask(asking{"getTask", "GET", "/tasks/" + second, ""})
	ask(asking{"getTask", "GET", "/tasks/none", ""})
	ask(asking{"listTasks", "GET", "/tasks?limit=1&created_by=lead", ""})
	ask(asking{"listTasks", "GET", "/tasks?status=pending&order=oldest", ""})
	f.counts(t)
	ask(asking{"listAgents", "GET", "/agents?limit=1", ""})
	ask(asking{"listAgents", "GET", "/agents?order=verdicts&limit=1", ""})
	ask(asking{"getAgent", "GET", "/agents/reviewer", ""})
	ask(asking{"getAgent", "GET", "/agents/nobody", ""})
	ask(asking{"probeComponent", "POST", "/components/docs/probe", ""})
	result := id(ask(asking{"probeComponent", "POST", "/components/broken/probe", ""}))
	ask(asking{"probeComponent", "POST", "/components/none/probe", ""})
	ask(asking{"listComponents", "GET", "/components?limit=1&search=OC&status=available&kind=mcp_server", ""})
	ask(asking{"listComponents", "GET", "/components?limit=2", ""})
	ask(asking{"getComponent", "GET", "/components/broken", ""})
	ask(asking{"listResults", "GET", "/components/broken/results", ""})
	ask(asking{"getResult", "GET", "/results/" + result, ""})
	ask(asking{"getResult", "GET", "/results/none", ""})
	ask(asking{"listSlots", "GET", "/slots?limit=1", ""})
	ask(asking{"preflightRun", "POST", "/runs/nightly/preflight", ""})
	ask(asking{"preflightRun", "POST", "/runs/weekly/preflight", "{}"})
	ask(asking{"preflightRun", "POST", "/runs/yearly/preflight", ""})
	ask(asking{"listRuns", "GET", "/runs", ""})
	ask(asking{"listRuns", "GET", "/runs?limit=1", ""})
	ask(asking{"getRun", "GET", "/runs/nightly", ""})
	ask(asking{"listPreflights", "GET", "/runs/weekly/preflights?limit=1", ""})
	ask(asking{"listPreflights", "GET", "/runs/yearly/preflights", ""})
}

// description is the document of the API, read as anyone would.
type description struct {
	operations []string
	answers    map[string]*jsonschema.Resolved // by operation, status and content type
}

func describedBy(t *testing.T, f *fleet) *description {
	t.Helper()
	_, body := f.ask(t, asking{method: http.MethodGet, path: pathDocument})
	return readDescription(t, body)
}

func readDescription(t *testing.T, body string) *description {
	t.Helper()
	// jsonschema-go refers only to what it knows, which is definitions.
	body = strings.ReplaceAll(body, schemaPrefix, "#/$defs/")
	var read struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Responses   map[string]struct {
				Content map[string]struct{ Schema *jsonschema.Schema }
			}
		}
		Components struct{ Schemas map[string]*jsonschema.Schema }
	}
	if err := json.Unmarshal([]byte(body), &read); err != nil {
		t.Fatal(err)
	}
	for name, one := range read.Components.Schemas {
		if one.Properties != nil && name != "Problem" { // whose members are those of its code
			one.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}} // it may gain members, and has none that is undescribed
		}
	}
	made, resolved := &description{answers: map[string]*jsonschema.Resolved{}}, map[string]*jsonschema.Resolved{}
	for _, methods := range read.Paths {
		for _, operation := range methods {
			made.operations = append(made.operations, operation.OperationID)
			for status, response := range operation.Responses {
				for kind, content := range response.Content {
					ref := content.Schema.Ref
					if ref != "" && resolved[ref] == nil {
						whole, err := (&jsonschema.Schema{Ref: ref, Defs: read.Components.Schemas}).Resolve(nil)
						if err != nil {
							t.Fatalf("%s %s: %v", operation.OperationID, status, err)
						}
						resolved[ref] = whole
					}
					made.answers[operation.OperationID+" "+status+" "+kind] = resolved[ref]
				}
			}
		}
	}
	return made
}

// check holds an answer against its schema.
func (d *description) check(t *testing.T, a asking, answer reply, body string) {
	t.Helper()
	described := d.answers[a.operation+" "+strconv.Itoa(answer.StatusCode)+" "+answer.Header.Get("Content-Type")]
	if described == nil {
		t.Errorf("%s %s = %d %s, which is not described", a.method, a.path, answer.StatusCode, answer.Header.Get("Content-Type"))
		return
	}
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		t.Fatal(err)
	}
	if err := described.Validate(value); err != nil {
		t.Errorf("%s %s = %s, which is not as described: %v", a.method, a.path, body, err)
	}
	if answer.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s %s may be kept: %v", a.method, a.path, answer.Header)
	}
}

// aliases are names for what differs from run to run.
type aliases struct{ ids []string }

var (
	anyID   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anyTime = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`)
	anyPort = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
	anyNext = regexp.MustCompile(`("next_cursor": "|cursor=)[A-Za-z0-9_%-]{20,}`)
)

func (a *aliases) in(text string) string {
	text = anyTime.ReplaceAllString(text, "TIME")
	text = anyPort.ReplaceAllString(text, "127.0.0.1:PORT")
	text = anyID.ReplaceAllStringFunc(text, func(id string) string {
		at := slices.Index(a.ids, id)
		if at < 0 {
			at, a.ids = len(a.ids), append(a.ids, id)
		}
		return fmt.Sprintf("ID-%d", at+1)
	})
	return anyNext.ReplaceAllString(text, "${1}CURSOR")
}

// scrubbed is JSON without what differs from run to run.
func scrubbed(t *testing.T, raw json.RawMessage) json.RawMessage {
	t.Helper()
	var out bytes.Buffer
	switch schema.KindOf(raw) {
	case "an object":
		members, err := schema.Members("", raw)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range members {
			value := scrubbed(t, m.Value)
			switch {
			case m.Name == "result":
				value = json.RawMessage(`{"...":"the document of a result"}`)
			case m.Name == "signature":
				value = json.RawMessage(`"SIGNATURE"`)
			case schema.KindOf(value) == "a number" && (strings.HasSuffix(m.Name, "_ms") || m.Name == "sum" || m.Name == "max"):
				value = json.RawMessage("0")
			}
			fmt.Fprintf(&out, "%s%q:%s", map[bool]string{true: "{", false: ","}[i == 0], m.Name, value)
		}
		if len(members) == 0 {
			out.WriteByte('{')
		}
		out.WriteByte('}')
		return out.Bytes()
	case "an array":
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			t.Fatal(err)
		}
		for i := range items {
			items[i] = scrubbed(t, items[i])
		}
		made, err := json.Marshal(items)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	return raw
}

// golden holds a text against the recorded one.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	recorded, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(recorded), text); diff != "" {
		t.Errorf("%s (-recorded +now):\n%s", name, diff)
	}
}
