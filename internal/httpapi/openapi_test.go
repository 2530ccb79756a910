package httpapi

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestOpenAPI_isAsRecorded(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	answer, body := f.ask(t, asking{method: http.MethodGet, path: pathDocument})
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != typeJSON {
		t.Errorf("= %d %v", answer.StatusCode, answer.Header)
	}
	golden(t, "openapi.json", body)
}

// Who tries the address that the documents name is led to what describes it.
func TestOpenAPI_isWhereTheAPIBegins(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, path := range []string{"/api/v1", "/api/v1/"} {
		answer, err := client.Get(f.url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusTemporaryRedirect || answer.Header.Get("Location") != PathOpenAPI {
			t.Errorf("%s = %d to %q, want 307 to %s", path, answer.StatusCode, answer.Header.Get("Location"), PathOpenAPI)
		}
	}
}

// The names are what clients that are generated call the operations: a contract.
func TestOpenAPI_namesEachOperationOnce(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	got := describedBy(t, f).operations
	slices.Sort(got)
	want := []string{
		"claimTask", "createTask", "decideTask", "getAgent", "getComponent", "getResult", "getRun", "getTask", "listAgents",
		"listComponents", "listPreflights", "listResults", "listRuns", "listSlots", "listTasks", "preflightRun", "probeComponent", "streamEvents",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the operations are %q, want %q", got, want)
	}
}

func TestOpenAPI_describesWhatIsServedAndNothingElse(t *testing.T) {
	server := plain()
	server.options.API = &API{Version: "1.2.3", Log: discarding()}
	run := start(t, server)
	_, body := run.do(t, http.MethodGet, pathV1+pathDocument, nil, "")
	if got := readDescription(t, body).operations; len(got) > 0 {
		t.Errorf("without any part it describes %q", got)
	}
	if answer, _ := run.do(t, http.MethodGet, pathV1+"/tasks", nil, ""); answer.StatusCode != http.StatusNotFound {
		t.Errorf("a route of a part that is missing = %d", answer.StatusCode)
	}
}

// Every reference leads somewhere, every schema is used, and each segment of a path
// is a parameter.
func TestOpenAPI_isWhole(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	_, body := f.ask(t, asking{method: http.MethodGet, path: pathDocument})
	var read struct {
		Paths map[string]map[string]struct {
			OperationID, Summary, Description string
			Tags                              []string
			Parameters                        []struct {
				Name, In, Description string
				Required              bool
			}
		}
		Components struct{ Schemas map[string]json.RawMessage }
		Tags       []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(body), &read); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{"TaskEvent": true, "ComponentEvent": true, "RunEvent": true} // the data of a stream
	for _, match := range regexp.MustCompile(regexp.QuoteMeta(`"$ref": "`+schemaPrefix)+`([A-Za-z]+)"`).FindAllStringSubmatch(body, -1) {
		used[match[1]] = true
		if read.Components.Schemas[match[1]] == nil {
			t.Errorf("%s is referred to and is nowhere", match[1])
		}
	}
	if got, want := strings.Count(body, `"$ref"`), strings.Count(body, `"$ref": "`+schemaPrefix); got != want {
		t.Errorf("%d of %d references lead elsewhere", got-want, got)
	}
	for name := range read.Components.Schemas {
		if !used[name] && name != "AgentTally" {
			t.Errorf("the schema %s is not used", name)
		}
	}
	for path, methods := range read.Paths {
		for method, operation := range methods {
			if operation.Summary == "" || operation.Description == "" || len(operation.Tags) != 1 {
				t.Errorf("%s %s is not described", method, path)
			}
			var inPath []string
			for _, parameter := range operation.Parameters {
				if parameter.In == "path" && parameter.Required {
					inPath = append(inPath, parameter.Name)
				}
				if parameter.Description == "" {
					t.Errorf("%s %s: %s is not described", method, path, parameter.Name)
				}
			}
			if !slices.Equal(inPath, named(path)) {
				t.Errorf("%s %s has the parameters %q in its path", method, path, inPath)
			}
		}
	}
}

func TestOpenAPI_isSentOnce(t *testing.T) {
	f := startFleet(t, func(*Options) {})
	first, _ := f.do(t, http.MethodGet, PathOpenAPI, nil, "")
	again, body := f.do(t, http.MethodGet, PathOpenAPI, http.Header{"If-None-Match": {first.Header.Get("ETag")}}, "")
	if again.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("who has it is answered %d with %d bytes", again.StatusCode, len(body))
	}
}
