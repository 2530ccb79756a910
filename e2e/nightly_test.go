//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// nightlyRun depends on a component of each kind. The primary of recon is not there,
// and neither is what could fill spare.
const nightlyRun = `
components:
  scanner-eu: {kind: mcp_server, url: "http://127.0.0.1:1"}
  scanner: {kind: mcp_server, url: %q}
  writer: {kind: model, provider: openai, base_url: "%s/v1", model: adder-1}
  scanner-image:
    kind: harness
    image: %q
    scan: {max_age: 168h}
    signature: {key: cosign.pub}
  handbook:
    kind: knowledge_base
    url: "http://%s"
    retrieve: {tool: search, arguments: {query: password policy}, chunks: $.results, ids: "$.results[*].id", expect_ids: [passwords.length], version: $.content_version}
slots:
  recon: {primary: scanner-eu, fallbacks: [scanner], require_tools: [noop], min_version: "1.0"}
  author: {primary: writer}
  tools: {primary: scanner-image}
  lookup: {primary: handbook}
  spare: {primary: scanner-eu}
runs:
  nightly: {slots: {recon: required, author: required, tools: required, lookup: required, spare: optional}}
  strict: {slots: {recon: required, spare: required}}
`

// nightly is that run on what it depends on, asked about on both databases.
type nightly struct {
	folder    string
	env       []string
	databases map[string]string // --db, by what it is

	server *mcp.Server
	model  atomic.Value
	image  *scannedImage
	book   *handbook
}

func newNightly(t *testing.T) *nightly {
	t.Helper()
	n := &nightly{folder: t.TempDir(), env: environment(t), databases: map[string]string{}, image: scanImage(t, nil), book: startHandbook(t)}
	for name, open := range databases() {
		n.databases[name] = open(t)
	}
	server, url := gatedServer(t)
	n.server = server
	n.model.Store("adder-1")
	n.image.report(t, time.Now().Add(-time.Hour), "CVE-2026-1 LOW")
	writeFile(t, filepath.Join(n.folder, "cosign.pub"), n.image.sign(t))
	configure(t, n.folder, fmt.Sprintf(nightlyRun, url, chatServer(t, &n.model), n.image.reference(), n.book.address))
	return n
}

// says asks preflight on each database, whose name stands for % in the arguments.
func (n *nightly) says(t *testing.T, code int, wants []string, arguments ...string) {
	t.Helper()
	for name, database := range n.databases {
		argv := []string{binary(), "preflight", "--db", database}
		for _, argument := range arguments {
			argv = append(argv, strings.ReplaceAll(argument, "%", name))
		}
		got := run(t, n.folder, n.env, argv...)
		if got.code != code {
			t.Errorf("%v: exit code %d, want %d\n%s%s", argv[2:], got.code, code, got.stdout, got.stderr)
		}
		for _, want := range wants {
			if !strings.Contains(spaces.ReplaceAllString(got.stdout+got.stderr, " "), want) {
				t.Errorf("%v: %q is not said\n%s%s", argv[2:], want, got.stdout, got.stderr)
			}
		}
	}
}

// fails checks the tickets, which one component alone keeps from holding.
func (n *nightly) fails(t *testing.T, when, component string, cause registry.Cause, changed ...string) {
	t.Helper()
	for name, database := range n.databases {
		got := run(t, n.folder, n.env, binary(), "--json", "preflight", "--check", name+".ticket", "--db", database)
		var report registry.TicketReport
		if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || got.code != 1 || report.Holds {
			t.Fatalf("%s, on %s: exit code %d, %v\n%s%s", when, name, got.code, err, got.stdout, got.stderr)
		}
		broken := slices.DeleteFunc(report.Slots, func(check registry.TicketCheck) bool { return check.OK })
		if len(broken) != 1 || broken[0].Component != component || broken[0].ResultID == "" {
			t.Fatalf("%s, on %s, these do not hold: %+v", when, name, broken)
		}
		causes := []registry.Cause{}
		if cause != "" {
			causes = append(causes, cause)
		}
		if diff := cmp.Diff(causes, broken[0].Causes); diff != "" {
			t.Errorf("%s, on %s: causes (-want +got):\n%s", when, name, diff)
		}
		if !slices.Equal(broken[0].Changed, changed) {
			t.Errorf("%s, on %s: changed are %v, want %v", when, name, broken[0].Changed, changed)
		}
	}
}

func (n *nightly) holds(t *testing.T) {
	t.Helper()
	n.says(t, 0, []string{"nightly: the ticket holds"}, "--check", "%.ticket")
}

// TestPreflight_ofARunWithAllFourKinds starts a run on what is left of it, and has
// each kind change under it.
func TestPreflight_ofARunWithAllFourKinds(t *testing.T) {
	t.Parallel()
	n := newNightly(t)
	n.says(t, 1, []string{"strict: refused: nothing healthy behind spare", "refused: connection refused"}, "strict")
	n.says(t, 0, []string{
		"recon required ok scanner", "author required ok writer", "tools required ok scanner-image", "lookup required ok handbook",
		"spare optional FAIL scanner-eu", "nightly: may start on a fallback: recon by scanner; without spare",
		"warning: slot recon ", "warning: slot spare ",
	}, "nightly", "--ticket", "%.ticket")
	n.holds(t)
	n.changesTools(t)
	n.changesModel(t)
	n.changesImage(t)
	n.changesContent(t)
	n.says(t, 0, []string{"may start on a fallback"}, "nightly", "--ticket", "%.ticket")
	n.holds(t)
}

func (n *nightly) changesTools(t *testing.T) {
	n.server.AddTool(&mcp.Tool{Name: "scan_all", InputSchema: map[string]any{"type": "object"}}, nothing)
	n.fails(t, "a tool was added", "scanner", registry.ToolsChanged, "tools_digest")
	n.server.RemoveTools("scan_all")
	n.holds(t)
	n.server.RemoveTools("noop")
	n.fails(t, "the tools are gone", "scanner", registry.ZeroTools)
	n.says(t, 1, []string{"nothing healthy behind recon"}, "nightly")
	n.server.AddTool(&mcp.Tool{Name: "noop", InputSchema: map[string]any{"type": "object"}}, nothing)
	n.holds(t)
}

func (n *nightly) changesModel(t *testing.T) {
	n.model.Store("adder-1-mini")
	n.fails(t, "another model answers", "writer", registry.WrongModel)
	n.says(t, 1, []string{"nothing healthy behind author", "adder-1-mini"}, "nightly")
	n.model.Store("adder-1")
	n.holds(t)
}

func (n *nightly) changesImage(t *testing.T) {
	other, err := random.Image(64, 1)
	must(t, err)
	n.image.tag(t, other)
	n.fails(t, "the tag was moved", "scanner-image", registry.MovedTag)
	n.image.tag(t, n.image.image)
	n.holds(t)
	n.image.report(t, time.Now().Add(-time.Minute), "CVE-2026-1 LOW", "CVE-2026-2 CRITICAL")
	n.fails(t, "the newest report has a finding", "scanner-image", registry.BlockingFindings)
	n.says(t, 1, []string{"nothing healthy behind tools", "CVE-2026-2"}, "nightly")
	n.image.report(t, time.Now(), "CVE-2026-1 LOW")
	n.holds(t)
}

func (n *nightly) changesContent(t *testing.T) {
	n.book.write(t, "laptops", "# Laptops\n\n## Lost\n\nIt is reported.\n")
	n.book.restart(t)
	n.fails(t, "a page was added", "handbook", "", "content_version")
	n.book.remove(t, "laptops")
	n.book.restart(t)
	n.holds(t)
	n.book.write(t, "passwords", "# Passwords\n\n## Policy\n\nThe password policy is elsewhere.\n")
	n.book.restart(t)
	n.fails(t, "the chunk is gone", "handbook", registry.MissingChunk, "content_version")
	n.says(t, 1, []string{"nothing healthy behind lookup"}, "nightly")
	n.book.write(t, "passwords", handbookPage)
	n.book.restart(t)
	n.holds(t)
}
