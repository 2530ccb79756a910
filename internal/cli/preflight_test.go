package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestPreflight_transcript(t *testing.T) {
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(t)
	f.run("preflight", "nightly")
	f.run("preflight")
	f.run("--json", "preflight", "nightly")
	f.note("the primary breaks")
	f.first.broken.Store(true)
	f.run("preflight", "nightly", "--ticket", "ticket.json")
	f.note("and the optional component")
	f.third.broken.Store(true)
	f.run("preflight", "nightly")
	f.note("the ticket is about the fallback, and about the optional component as well")
	f.run("preflight", "--check", "ticket.json")
	f.note("the optional component is mended")
	f.third.broken.Store(false)
	f.run("preflight", "--check", "ticket.json")
	f.run("--json", "preflight", "--check", "ticket.json")
	f.note("the fallback gets another tool; its drift blocks")
	f.second.addTool("evil", "")
	f.run("preflight", "--check", "ticket.json")
	f.run("preflight", "nightly", "--ticket", "ticket.json")
	f.run("--json", "preflight", "nightly")
	f.note("a server that nobody has seen yet")
	f.run("preflight", "nightly", "--db", "another.db")
	f.note("a ticket of another key")
	f.env["XDG_CONFIG_HOME"] = t.TempDir()
	f.run("preflight", "--check", "ticket.json")
	f.note("what cannot be asked")
	for _, args := range [][]string{
		{"preflight", "nightl"},
		{"--json", "preflight", "nightl"},
		{"preflight", "nightly", "--ticket", ""},
		{"preflight", "nightly", "--ticket", "no/such/folder"},
		{"preflight", "nightly", "--ticket", "."},
		{"preflight", "nightly", "--check", "ticket.json"},
		{"preflight", "--check", "absent.json"},
		{"preflight", "--check", "countersign.yaml"},
		{"preflight", "--check", ""},
		{"preflight", "nightly", "--config", "absent.yaml"},
		{"preflight", "nightly", "morning"},
	} {
		if code, _, _ := f.run(args...); code != exitAsk {
			t.Errorf("%v: exit %d, want 2", args, code)
		}
	}
	t.Chdir(before)
	f.steady()
	f.golden(t, "preflight.txt")
}

func TestPreflight_writesATicketOnlyWhenTheRunMayStart(t *testing.T) {
	f := newFleet(t)
	if err := os.WriteFile("ticket.json", []byte("the one before"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.first.broken.Store(true)
	f.second.broken.Store(true)
	if code, out, complaint := f.run("preflight", "nightly", "--ticket", "ticket.json"); code != exitNo {
		t.Fatalf("exit %d, %s%s", code, out, complaint)
	}
	if kept, err := os.ReadFile("ticket.json"); err != nil || string(kept) != "the one before" {
		t.Errorf("a refusal left %q in the file (%v)", kept, err)
	}
	f.first.broken.Store(false)
	code, out, complaint := f.run("--json", "preflight", "nightly", "--ticket", "ticket.json")
	var answer registry.Preflight
	if err := json.Unmarshal([]byte(out), &answer); err != nil || code != exitYes || answer.Ticket == nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, complaint)
	}
	document, err := os.ReadFile("ticket.json")
	if err != nil {
		t.Fatal(err)
	}
	written, err := registry.ParseTicket(document)
	if err != nil || written.Signature != answer.Ticket.Signature {
		t.Errorf("the file has another ticket than the answer: %s (%v)", document, err)
	}
	found, err := os.Stat("ticket.json")
	if err != nil || runtime.GOOS != "windows" && found.Mode().Perm() != 0o600 {
		t.Errorf("the mode of the ticket is %v (%v)", found.Mode(), err)
	}
	files, err := filepath.Glob(".ticket*")
	if err != nil || len(files) > 0 {
		t.Errorf("drafts are left behind: %v (%v)", files, err)
	}
	f.in = strings.Replace(string(document), "asm", "asn", 1)
	if code, out, complaint := f.run("preflight", "--check", "-"); code != exitNo || !strings.Contains(out, "does not hold") {
		t.Errorf("a forged ticket: exit %d, %s%s", code, out, complaint)
	}
	f.in = string(document)
	if code, out, complaint := f.run("preflight", "--check", "-"); code != exitYes {
		t.Errorf("the ticket on standard input: exit %d, %s%s", code, out, complaint)
	}
	f.env["XDG_CONFIG_HOME"] = t.TempDir() // with another key
	if code, out, complaint := f.run("preflight", "--check", "ticket.json"); code != exitNo || !strings.Contains(out, "does not hold") {
		t.Errorf("a ticket of another key: exit %d, %s%s", code, out, complaint)
	}
}

func TestPreflight_asksWhichRunWhenThereAreTwo(t *testing.T) {
	f := newFleet(t)
	two := strings.Replace(f.configuration(), "runs:\n", "runs:\n  morning: {slots: {author: required}}\n", 1)
	none := f.configuration()[:strings.Index(f.configuration(), "runs:")]
	for name, content := range map[string]string{"two.yaml": two, "none.yaml": none} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, complaint := f.run("preflight", "--config", "two.yaml"); code != exitAsk || !strings.Contains(complaint, "are morning, nightly") {
		t.Errorf("two runs: exit %d, %s", code, complaint)
	}
	if code, _, complaint := f.run("preflight", "--config", "none.yaml"); code != exitAsk || !strings.Contains(complaint, "names no run") {
		t.Errorf("no run: exit %d, %s", code, complaint)
	}
}

func TestPreflight_exitsNonZeroWhenItIsInterrupted(t *testing.T) {
	f := newFleet(t)
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body)
		cancel()
		<-request.Context().Done()
	}))
	t.Cleanup(server.Close)
	rewrite(t, strings.ReplaceAll(f.configuration(), f.first.url, server.URL))
	var out, complaint bytes.Buffer
	code := Main(ctx, []string{"preflight", "nightly", "--ticket", "ticket.json"}, Surroundings{
		In: strings.NewReader(""), Out: &out, Err: &complaint, Getenv: func(name string) string { return f.env[name] },
	})
	if code != exitAsk || out.Len() != 0 || !strings.Contains(complaint.String(), "E_UNAVAILABLE") || !isMissing("ticket.json") {
		t.Errorf("exit %d with %q and %q, want 2 with a fault and no ticket", code, out.String(), complaint.String())
	}
}

func TestPreflight_printsCommandsAboutTheSameFileAndDatabase(t *testing.T) {
	f := newFleet(t)
	ends := fmt.Sprintf("components:\n  ends: {kind: mcp_server, command: [%q, -no-such-flag]}\n", os.Args[0])
	if err := os.WriteFile("its own.yaml", []byte(strings.Replace(f.configuration(), "components:\n", ends, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	given := []string{"--config", "its own.yaml", "--db", "other.db"}
	flags := registryArguments("its own.yaml", "other.db")
	printed := func(wantCode int, arguments ...string) {
		t.Helper()
		code, out, complaint := f.run(append(arguments, given...)...)
		if code != wantCode {
			t.Fatalf("%s: exit %d, %s%s", arguments, code, out, complaint)
		}
		commands := 0
		for _, rest := range strings.Split(strings.Join(strings.Fields(out), " "), "countersign ")[1:] {
			commands++
			if !strings.Contains(rest, flags) {
				t.Errorf("%s prints countersign %s, want %s in it", arguments, rest, flags)
			}
		}
		if commands == 0 {
			t.Errorf("%s prints no command:\n%s", arguments, out)
		}
	}
	if code, out, complaint := f.run(append([]string{"preflight", "--ticket", "ticket.json"}, given...)...); code != exitYes {
		t.Fatalf("exit %d, %s%s", code, out, complaint)
	}
	f.first.addTool("another", "Scans more.")
	printed(exitYes, "preflight")
	printed(exitNo, "preflight", "--check", "ticket.json")
	printed(exitYes, "probe", "asm")
	printed(exitYes, "component", "show", "asm")
	printed(exitNo, "probe", "ends")
	printed(exitYes, "component", "show", "ends")
	f.first.broken.Store(true)
	f.second.broken.Store(true)
	printed(exitNo, "preflight")
}
