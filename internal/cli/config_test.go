package cli

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// inFolder puts files into a folder of their own and makes it the working
// directory, so that transcripts show short names. It returns the one before.
func inFolder(t *testing.T, files map[string]string) (before string) {
	t.Helper()
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	return before
}

const validConfiguration = `listen: 127.0.0.1:0
db: gate.db
components:
  asm:
    kind: mcp_server
    url: http://127.0.0.1:8080
    mcp_url: http://127.0.0.1:8080/mcp?key=correct-horse
    credentials: {bearer: env:ASM_TOKEN}
  files: {kind: mcp_server, command: [server, --key, correct-horse]}
slots:
  recon: {primary: asm, require_tools: [nmap_scan], min_version: "7.80", max_age: 1m}
  disk: {primary: files, fallbacks: [asm]}
runs:
  nightly: {slots: {recon: required, disk: optional}}
  hourly: {slots: {recon}}
alerts:
  webhooks: [{name: ops, url: "https://hooks.example/services/correct-horse", send: [run]}]
  alertmanagers: [{url: "http://127.0.0.1:9093"}]
`

const invalidConfiguration = `listen: 127.0.0.1:0
components:
  asm: {kind: mcp_server, url: http://127.0.0.1:8080, intervall: 30s, credentials: {bearer: correct-horse}}
slot: {}
slots: {recon: {primary: as}}
`

const likelyMistakes = `components:
  everything: {kind: mcp_server, url: http://127.0.0.1:3001/mcp}
  one: {kind: mcp_server, command: [node, one.js, correct-horse], canary: {tool: t}}
  two: {kind: mcp_server, command: [nod, two.js], canary: {tool: t, expect: {path: $.n, min_count: 1}}}
`

func TestConfigCheck_transcript(t *testing.T) {
	shell := newShell(t)
	before := inFolder(t, map[string]string{"countersign.yaml": validConfiguration, "bad.yaml": invalidConfiguration, "likely.yaml": likelyMistakes, "empty.yaml": ""})
	shell.env["ASM_TOKEN"], shell.env["PATH"] = "correct-horse", folderWith(t, "node", "server")
	shell.run("config", "check")
	delete(shell.env, "ASM_TOKEN")
	shell.run("config", "check")
	shell.run("config", "check", "--config", "bad.yaml")
	shell.run("config", "check", "empty.yaml")
	shell.run("config", "check", "empty.yaml", "--config", "bad.yaml")
	shell.run("config", "check", "--config", "empty.yaml")
	shell.run("config", "check", "--config", "absent.yaml")
	shell.run("config", "check", "--config", ".")
	shell.run("config", "check", "--config", "likely.yaml")
	shell.run("config", "check", "--config", "likely.yaml", "--send-test-alert")
	shell.run("component", "list", "--config", "bad.yaml")
	shell.run("--json", "config", "check")
	shell.run("--json", "config", "check", "--config", "bad.yaml")
	shell.run("--json", "config", "check", "--config", "absent.yaml")
	shell.run("serve", "--config", "bad.yaml")
	shell.run("--json", "serve", "--config", "bad.yaml")
	if err := os.Remove("countersign.yaml"); err != nil {
		t.Fatal(err)
	}
	shell.run("config", "check")
	if strings.Contains(shell.transcript.String(), "correct-horse") {
		t.Error("a secret is shown")
	}
	t.Chdir(before)
	shell.golden(t, "config.txt")
}

// folderWith is a folder with programs that do nothing.
func folderWith(t *testing.T, programs ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestConfigChecked_keepsLongCommandsInTheirColumn(t *testing.T) {
	t.Parallel()
	checked := configChecked{File: "countersign.yaml", Valid: true, Components: []checkedComponent{
		{Name: "files", Kind: registry.KindMCPServer, Profile: registry.Protocol, Target: "/opt/" + strings.Repeat("long/", 20) + "server"},
	}}
	text := checked.text(painter{width: 80})
	fits(t, text)
	if !strings.Contains(text, "\n         ") || strings.Contains(text, "\n  long") {
		t.Errorf("printed as\n%s", text)
	}
}

func TestConfigCheck_untrustedTextIsMadeVisible(t *testing.T) {
	shell := newShell(t)
	inFolder(t, map[string]string{"countersign.yaml": "components:\n  \"a\u202e\\e[2J\": {kind: mcp_server, url: \"\u202e\x1b[2J\"}\n"})
	for _, args := range [][]string{{"config", "check"}, {"--json", "config", "check"}} {
		code, out, _ := shell.run(args...)
		if code != exitNo || out != visible(out) {
			t.Errorf("exit %d, shown raw: %q", code, out)
		}
	}
}

func TestServe_takesFromTheFileWhatFlagsLeaveOpen(t *testing.T) {
	shell := newShell(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	inFolder(t, map[string]string{"other.yaml": "listen: " + taken.Addr().String() + "\ndb: env:DB\n"})
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	shell.env["DB"] = filepath.Join(folder, "from-variable.db")
	server := shell.serve(t, "--config", "other.yaml") // with --listen, which beats the file's address
	if server.Database != shell.env["DB"] {
		t.Errorf("the database is %s", server.Database)
	}
	server.end(t)
	server = shell.serve(t, "--config", "other.yaml", "--db", "from-flag.db")
	if filepath.Base(server.Database) != "from-flag.db" {
		t.Errorf("the database is %s", server.Database)
	}
	server.end(t)
	code, out, _ := shell.run("--json", "serve", "--config", "other.yaml")
	var refused struct{ Code, Message string }
	if err := json.Unmarshal([]byte(out), &refused); err != nil || code != exitAsk || !strings.Contains(refused.Message, "is in use") {
		t.Errorf("exit %d, %v: %s", code, err, out)
	}
	delete(shell.env, "DB")
	code, out, _ = shell.run("--json", "serve", "--config", "other.yaml")
	if err := json.Unmarshal([]byte(out), &refused); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("the secret at env:DB cannot be had: the environment variable is not set", refused.Message); code != exitAsk || diff != "" {
		t.Errorf("exit %d (-want +got):\n%s", code, diff)
	}
}

func TestConfigCheck_sendsATestAlertAndSaysWhoHasNotTakenIt(t *testing.T) {
	s := newShell(t)
	var told atomic.Int64
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told.Add(1)
		if r.URL.Path == "/refuses" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(hook.Close)
	file := func(more string) string {
		return "alerts:\n  claim_waits: 90m\n  webhooks:\n    - {name: ops, url: \"" + hook.URL + "/s3cret\"}\n" + more
	}
	inFolder(t, map[string]string{"sound.yaml": file(""), "mixed.yaml": file(
		"    - {name: chat, url: \"" + hook.URL + "/refuses\"}\n    - {name: unset, url: \"" + hook.URL + "\", secret: \"env:UNSET\"}\n")})
	if code, out, _ := s.run("config", "check", "sound.yaml"); code != exitYes || told.Load() != 0 || !strings.Contains(out, "when it has waited for 1h30m\n") {
		t.Errorf("without being asked to: exit %d, %d messages\n%s", code, told.Load(), out)
	}
	if code, out, _ := s.run("config", "check", "sound.yaml", "--send-test-alert"); code != exitYes || told.Load() != 1 || !strings.HasSuffix(out, "\ntest alerts\n  ops  taken: it answered with the status 200\n") {
		t.Errorf("a receiver that takes it: exit %d, %d messages\n%s", code, told.Load(), out)
	}
	code, out, _ := s.run("config", "check", "mixed.yaml", "--send-test-alert")
	want := "\ntest alerts\n  ops    taken: it answered with the status 200\n  chat   NOT taken: it answered with the status 403. Check the secret, the token or the headers of its entry below alerts, and the rights that they have.\n" +
		"  unset  NOT taken: the secret to sign with: the secret at env:UNSET cannot be had: the environment variable is not set. " +
		"Provide it where this runs, or correct the entry of the receiver below alerts.\n"
	if code != exitNo || told.Load() != 3 || !strings.HasSuffix(out, want) || strings.Contains(out, "s3cret") {
		t.Errorf("receivers of all sorts: exit %d, %d messages\n%s", code, told.Load(), out)
	}
	code, out, _ = s.run("config", "check", "mixed.yaml", "--send-test-alert", "--json")
	var answer struct {
		Tests []checkedTest `json:"test_alerts"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != exitNo || len(answer.Tests) != 3 || !answer.Tests[0].Taken || answer.Tests[1].Taken || answer.Tests[1].Reason == "" || answer.Tests[1].Hint == "" ||
		answer.Tests[0].Status != http.StatusOK || answer.Tests[1].Status != http.StatusForbidden || answer.Tests[2].Status != 0 {
		t.Errorf("as JSON: exit %d, %v\n%s", code, err, out)
	}
}

func TestConfigChecked_alignsKindsOfAnyLength(t *testing.T) {
	t.Parallel()
	checked := configChecked{Valid: true, File: "f", Components: []checkedComponent{
		{Name: "asm", Kind: registry.KindMCPServer, Profile: registry.ThreeGates, Target: "http://one"},
		{Name: "notes", Kind: registry.KindKnowledgeBase, Target: "http://two"},
	}}
	want := "f is valid: 2 components\n  asm    mcp_server      three-gates  http://one\n  notes  knowledge_base               http://two\n"
	if diff := cmp.Diff(want, checked.text(painter{})); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}
