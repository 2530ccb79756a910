//go:build unix

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestOpenAPI_makesAClientThatWorks has a public generator make a client of the
// served document, has the compiler check what is called against it, and goes
// through the quickstart with it.
func TestOpenAPI_makesAClientThatWorks(t *testing.T) {
	t.Parallel()
	s := newScene(t, "127.0.0.1:0", 2*time.Second)
	folder, env := t.TempDir(), environment(t, "NO_COLOR=1", "CI=1")
	document := filepath.Join(folder, "openapi.json")
	must(t, os.WriteFile(document, s.get(t, "/api/v1/openapi.json"), 0o600))
	judgeDocument(t, folder, env, document)

	do := func(what string, argv ...string) string {
		t.Helper()
		done := run(t, folder, env, nodeCommand(t, argv...)...)
		if done.code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", what, done.code, done.stdout, done.stderr)
		}
		return done.stdout
	}
	do("generate the client", nodePackage(t, "@hey-api/openapi-ts/bin/run.js"), "--input", document, "--output", filepath.Join(folder, "client"), "--client", "@hey-api/client-fetch")
	writeFile(t, filepath.Join(folder, "api.ts"), readFile(t, driver(t, "api.ts")))
	writeFile(t, filepath.Join(folder, "tsconfig.json"), `{"files": ["api.ts"], "compilerOptions": {
		"strict": true, "skipLibCheck": true, "types": [], "target": "es2022", "module": "commonjs", "moduleResolution": "node10",
		"lib": ["es2023", "dom", "dom.iterable", "dom.asynciterable"], "outDir": "made"}}`)
	do("compile what calls it", nodePackage(t, "typescript/bin/tsc"), "--project", ".")

	var got struct {
		Status, VerifiedBy, Missing string
		Resumed                     string
		Refused                     struct {
			Status       int
			Code, Detail string
		}
		Pages, Causes, Runs, Events      []string
		Statuses                         map[string]string
		Passed, Release, Nightly, Ticket bool
	}
	must(t, json.Unmarshal([]byte(do("go through the quickstart", "made/api.js", s.address)), &got))
	if got.Status != "verified" || got.VerifiedBy != "verifier" || got.Missing != "E_NOT_FOUND" {
		t.Errorf("the task is %s by %s, and one that does not exist is %s", got.Status, got.VerifiedBy, got.Missing)
	}
	if got.Refused.Code != "E_SELF_VERIFY" || got.Refused.Status != http.StatusForbidden || got.Refused.Detail == "" {
		t.Errorf("a self-verification is refused by %+v", got.Refused)
	}
	if diff := cmp.Diff([]string{"Export the audit trail as CSV", "Upgrade the base image to Debian 12.9"}, got.Pages); diff != "" {
		t.Errorf("what waits longest, page by page (-want +got):\n%s", diff)
	}
	for name, want := range sceneStatuses() {
		if got.Statuses[name] != want {
			t.Errorf("%s is %s, want %s", name, got.Statuses[name], want)
		}
	}
	if !got.Passed || got.Release || !got.Nightly || !got.Ticket || !slices.Equal(got.Causes, []string{"not_ok"}) || len(got.Runs) != 4 {
		t.Errorf("got %+v", got)
	}
	if told := strings.Join(got.Events, "\n"); !strings.Contains(told, "pending") || !strings.Contains(told, "claimed") || !strings.Contains(told, "verified") {
		t.Errorf("the stream tells\n%s", told)
	}
	if !strings.Contains(got.Resumed, "pending") {
		t.Errorf("a client that lost the stream before the first event is told %q when it is back", got.Resumed)
	}
}

// judgeDocument asks a validator about the document.
func judgeDocument(t *testing.T, folder string, env []string, document string) {
	t.Helper()
	judged := run(t, folder, env, nodeCommand(t, driver(t, "openapi.mjs"), document)...)
	var verdict struct {
		Valid   bool
		Version string
		Errors  json.RawMessage
	}
	if err := json.Unmarshal([]byte(judged.stdout), &verdict); err != nil || !verdict.Valid || verdict.Version != "3.1" {
		t.Errorf("the document is not valid OpenAPI 3.1: %v, version %q: %s%s", err, verdict.Version, verdict.Errors, judged.stderr)
	}
}

// get reads what the server answers with 200.
func (s *scene) get(t *testing.T, path string) []byte {
	t.Helper()
	answer, err := http.Get(s.address + path)
	must(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	must(t, err)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %s: %s", path, answer.Status, body)
	}
	return body
}
