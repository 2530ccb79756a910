package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestParse_startsAServerInTheFolderOfTheFile(t *testing.T) {
	t.Parallel()
	loaded, invalid := parse("file.yaml", "/srv/fleet", `
components:
  here: {kind: mcp_server, command: [bin/server]}
  below: {kind: mcp_server, command: [server], cwd: sub}
  elsewhere: {kind: knowledge_base, command: [server], cwd: /opt, retrieve: {tool: s, chunks: $.r}}
  called: {kind: mcp_server, url: http://127.0.0.1:8080}
`)
	if invalid != nil {
		t.Fatal(invalid)
	}
	var got []string
	for _, each := range loaded.Components {
		switch spec := each.Spec.(type) {
		case *registry.MCPServer:
			got = append(got, spec.Dir)
		case *registry.KnowledgeBase:
			got = append(got, spec.Dir)
		}
	}
	if diff := cmp.Diff([]string{"/srv/fleet", "/srv/fleet/sub", "/opt", ""}, got); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
	moved, invalid := parse("file.yaml", "/srv/other", "components: {here: {kind: mcp_server, command: [bin/server]}}")
	if invalid != nil {
		t.Fatal(invalid)
	}
	before, err := loaded.Components[0].Definition()
	after, other := moved.Components[0].Definition()
	if err != nil || other != nil || before == after {
		t.Errorf("a server that is started in another folder is the same component: %v, %v", err, other)
	}
}

func TestWarnings_tellLikelyMistakesAboutAServer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, mode := range map[string]os.FileMode{"program": 0o700, "text": 0o600} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	loaded, invalid := parse("file.yaml", folder, `
components:
  endpoint: {kind: mcp_server, url: "http://127.0.0.1:3001/mcp/"}
  meant: {kind: mcp_server, url: http://127.0.0.1:3001/mcp, profile: three-gates}
  right: {kind: mcp_server, url: http://127.0.0.1:3001/mcp, profile: protocol, canary: {tool: t}}
  found: {kind: mcp_server, command: [program, x], canary: {tool: t}}
  absent: {kind: mcp_server, command: [programm], canary: {tool: t}}
  beside: {kind: mcp_server, command: [./program], canary: {tool: t}}
  nowhere: {kind: mcp_server, command: [bin/program], canary: {tool: t}}
  folder: {kind: mcp_server, command: [/], canary: {tool: t}}
  counted: {kind: mcp_server, url: http://127.0.0.1, canary: {tool: t, expect: {path: $.counts.pending, min_count: 1}}}
  twice: {kind: mcp_server, url: http://127.0.0.1, canary: {tool: t, expect: {path: "$['a'][0]", min_count: 2}}}
  listed: {kind: mcp_server, url: http://127.0.0.1, canary: {tool: t, expect: {path: "$.tasks[*]", min_count: 1}}}
  equal: {kind: mcp_server, url: http://127.0.0.1, canary: {tool: t, expect: {path: $.a, equals: 1}}}
front: {test: {canary: {tool: t, expect: {path: $.a, min_count: 1}}}}
`)
	if invalid != nil {
		t.Fatal(invalid)
	}
	const (
		profile = ": this looks like an MCP endpoint, and /healthz and /test are asked for below it" +
			" / If the server has no gates, add profile: protocol; else give the address without /mcp."
		noPath = ": there is no program at this path" +
			" / A relative path starts at cwd, which is the folder of the file unless the component names another."
		isOne = ": the path selects one value at most, whatever that is, so 0 and an empty list pass too" +
			" / Ask for a value with equals, or for what is in a list with [*] at the end of the path."
	)
	want := []string{
		"3:37" + profile,
		"7:40: there is no such program on the PATH of this process / Check the name, or give its path.",
		"9:41" + noPath,
		"10:40" + noPath,
		"11:116" + isOne,
		"12:109: the path selects one value at most, so this never holds / Write [*] at the end of the path to count what is in a list.",
		"15:65" + isOne,
	}
	resolver := Resolver{Lookup: func(name string) (string, bool) { return folder, name == "PATH" }}
	if diff := cmp.Diff(want, briefly(loaded.Warnings(resolver))); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestParse_refusesDemandsOfASlotOnWhatHasNoTools(t *testing.T) {
	t.Parallel()
	_, invalid := parseWith(withGadget(), "file.yaml", "/srv", `
components:
  bike: {kind: gadget, wheels: 2}
  asm: {kind: mcp_server, url: http://127.0.0.1:8080}
  docs: {kind: knowledge_base, url: http://127.0.0.1:8080, retrieve: {tool: s, chunks: $.r}}
slots:
  ride: {primary: bike, require_tools: [bell], min_version: "2"}
  plain: {primary: bike, max_age: 1m}
  recon: {primary: asm, require_tools: [nmap], min_version: "2"}
  know: {primary: docs, require_tools: [s], min_version: "2"}
  gone: {primary: nothing, require_tools: [s]}
`)
	if invalid == nil {
		t.Fatal("this is called valid")
	}
	want := []string{
		"7:25: a component of the kind gadget has no tools / Leave it out.",
		"7:48: a component of the kind gadget has no version of a server / Leave it out.",
		`11:19: there is no component "nothing" / Declare it, or name one that is declared.`,
	}
	if diff := cmp.Diff(want, briefly(invalid.Problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
