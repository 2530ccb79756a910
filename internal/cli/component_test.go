package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestComponent_transcript(t *testing.T) {
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(t)
	f.run("component", "list")
	f.run("component", "show", "asm")
	f.run("component", "accept", "asm")
	f.note("all are probed once, and one is broken")
	f.first.broken.Store(true)
	f.run("preflight", "nightly")
	f.run("component", "list")
	f.run("component", "list", "--status", "unavailable", "--kind", "mcp_server")
	f.run("component", "list", "--status", "unknown")
	f.run("--json", "component", "list", "--status", "available")
	f.run("component", "show", "asm")
	f.run("--json", "component", "show", "writer")
	f.note("a tool comes, one goes, one changes")
	f.second.addTool("evil\u202e", "")
	f.second.RemoveTools("subfinder")
	f.second.addTool("nmap_scan", "Scan, and more.")
	f.run("probe", "asm-eu")
	f.run("--json", "probe", "asm-eu")
	f.run("component", "list")
	f.run("component", "show", "asm-eu")
	f.run("preflight", "nightly")
	f.run("component", "accept", "asm-eu")
	f.run("--json", "component", "accept", "asm-eu")
	f.run("component", "accept", "asm-eu")
	f.run("component", "show", "asm-eu")
	f.note("what is accepted does not pass")
	f.second.broken.Store(true)
	f.run("probe", "asm-eu")
	f.run("component", "accept", "asm-eu")
	f.note("what cannot be asked")
	for _, args := range [][]string{
		{"component", "list", "--status", "green"},
		{"component", "show", "asn"},
		{"component", "accept", "asn"},
		{"--json", "component", "show", "asn"},
		{"component", "list", "--db", "absent.db"},
		{"component", "list", "--config", "absent.yaml"},
	} {
		if code, _, _ := f.run(args...); code != exitAsk {
			t.Errorf("%v: exit %d, want 2", args, code)
		}
	}
	if err := os.Remove("countersign.yaml"); err != nil {
		t.Fatal(err)
	}
	f.run("component", "list")
	if obeyed(f.transcript.String()) {
		t.Error("a name of a tool is shown raw")
	}
	t.Chdir(before)
	f.steady()
	f.golden(t, "component.txt")
}

// What drifted before it was taken out of the configuration cannot be accepted.
func TestComponentShow_offersNoAcceptanceOfWhatIsNoLongerRegistered(t *testing.T) {
	f := newFleet(t)
	f.run("probe", "writer")
	f.third.addTool("erase", "")
	f.run("probe", "writer")
	if _, out, _ := f.run("component", "show", "writer"); !strings.Contains(out, "component accept writer") {
		t.Errorf("what drifted is not to be accepted: %q", out)
	}
	if err := os.WriteFile("countersign.yaml", []byte("components: {asm: {kind: mcp_server, url: "+f.first.url+"}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, complaint := f.run("component", "show", "writer")
	if code != exitYes || complaint != "" || !strings.Contains(out, "it is no longer registered") || strings.Contains(out, "component accept") {
		t.Errorf("exit code %d, %q, complaint %q", code, out, complaint)
	}
	if code, _, complaint := f.run("component", "accept", "writer"); code != exitAsk || !strings.Contains(complaint, "E_NOT_FOUND") {
		t.Errorf("it is accepted with exit code %d, complaint %q", code, complaint)
	}
}

func TestComponentList_isZeroWhateverTheStatuses(t *testing.T) {
	f := newFleet(t)
	f.first.broken.Store(true)
	f.run("probe", "asm")
	for _, args := range [][]string{{"component", "list"}, {"component", "show", "asm"}} {
		if code, out, complaint := f.run(args...); code != exitYes || !strings.Contains(out, "unavailable") {
			t.Errorf("%v: exit %d, %s%s", args, code, out, complaint)
		}
	}
}

func TestComponentList_namesTheKindsThatThereAre(t *testing.T) {
	t.Parallel()
	code, _, complaint := newShell(t).run("component", "list", "--kind", "server")
	if code != exitAsk || !strings.Contains(complaint, string(registry.KindMCPServer)) {
		t.Errorf("exit %d, %s", code, complaint)
	}
}

func TestComponentList_listsMoreThanAPage(t *testing.T) {
	f := newFleet(t)
	const number = registry.MaxPage + 7
	var many strings.Builder
	many.WriteString("components:\n")
	for i := range number {
		fmt.Fprintf(&many, "  c-%d: {kind: mcp_server, url: http://127.0.0.1:9}\n", i)
	}
	if err := os.WriteFile("countersign.yaml", []byte(many.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, complaint := f.run("--json", "component", "list")
	var list registry.ComponentPage
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != exitYes || len(list.Components) != number || list.NextCursor != "" {
		t.Errorf("exit %d, %v, %d components: %s", code, err, len(list.Components), complaint)
	}
}
