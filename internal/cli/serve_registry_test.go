package cli

import (
	"encoding/json"
	"html"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/web"
)

// await asks until the answer holds, for as long as a test has patience.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(servePatience); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// status is what component list says of a component; empty when it is not listed.
func (f *fleet) status(t *testing.T, name string) registry.Status {
	t.Helper()
	code, out, complaint := f.run("--json", "component", "list")
	var list registry.ComponentPage
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != exitYes {
		t.Fatalf("component list: exit %d, %v: %s%s", code, err, out, complaint)
	}
	for _, each := range list.Components {
		if each.Name == name {
			return each.Status
		}
	}
	return ""
}

// rewrite replaces the configuration at once, so that no half of it is read.
func rewrite(t *testing.T, content string) {
	t.Helper()
	if err := replaceFile("countersign.yaml", []byte(content)); err != nil {
		t.Fatal(err)
	}
}

func TestServe_patrolsWhatIsRegistered(t *testing.T) {
	f := newFleet(t)
	f.third.broken.Store(true)
	server := f.serve(t)
	if server.Components != 3 || !strings.HasSuffix(server.Config, "countersign.yaml") {
		t.Errorf("it begins with %d components of %q", server.Components, server.Config)
	}
	await(t, "all were probed", func() bool {
		return f.status(t, "asm") == registry.Available && f.status(t, "asm-eu") == registry.Available && f.status(t, "writer") == registry.Unavailable
	})
	if status, body := ask(t, http.MethodGet, server.Test, "", nil); status != http.StatusOK || !strings.Contains(body, `"patrol"`) {
		t.Errorf("/test = %d %s", status, body)
	}
	if code := server.end(t); code != exitYes {
		t.Errorf("serve ended with %d, want 0; log:\n%s", code, server.log)
	}
}

func TestServe_putsTheRegistryAtItsOwnEndpoint(t *testing.T) {
	f := newFleet(t)
	server := f.serve(t)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"preflight","arguments":{"run":"nightly"}}}`
	status, body := ask(t, http.MethodPost, server.Registry, call, nil)
	if status != http.StatusOK || !strings.Contains(body, `"allowed":true`) || !strings.Contains(body, `"signature":"`) {
		t.Errorf("preflight = %d %s", status, body)
	}
	if status, body := ask(t, http.MethodPost, server.MCP, createCall, nil); status != http.StatusOK || !strings.Contains(body, `"status":"pending"`) {
		t.Errorf("create_task = %d %s", status, body)
	}
}

func TestServe_takesAChangedFileOverAndRejectsABrokenOne(t *testing.T) {
	f := newFleet(t)
	server := f.serve(t)
	await(t, "the first were probed", func() bool { return f.status(t, "asm") == registry.Available })

	rewrite(t, "listen: 127.0.0.1:1\n"+strings.Replace(f.configuration(), "components:\n", "components:\n  twin: {kind: mcp_server, url: "+f.first.url+"}\n", 1))
	await(t, "the new one was probed", func() bool { return f.status(t, "twin") == registry.Available })

	rewrite(t, "components: {twin: {kind: mcp_sever}}\n")
	page := func() string { _, body := ask(t, http.MethodGet, server.URL+"/", "", nil); return body }
	await(t, "the page told of the rejection", func() bool { return strings.Contains(page(), "mcp_sever") })
	metrics := func() string { _, body := ask(t, http.MethodGet, server.Metrics, "", nil); return body }
	if told := metrics(); !strings.Contains(told, "countersign_config_rejected 1\n") || !strings.Contains(told, `countersign_config_reloads_total{result="accepted"} 1`) {
		t.Errorf("the metrics tell nothing of the rejection:\n%s", told)
	}
	before := f.first.probes.Load()
	if status, body := ask(t, http.MethodPost, server.Registry,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"probe_component","arguments":{"name":"twin"}}}`, nil); !strings.Contains(body, `"passed":true`) {
		t.Errorf("under the configuration before: %d %s", status, body)
	}
	if f.first.probes.Load() == before {
		t.Error("the component was not probed")
	}

	rewrite(t, f.configuration())
	await(t, "the page had forgotten the rejection", func() bool { return !strings.Contains(page(), "mcp_sever") })
	if told := metrics(); !strings.Contains(told, "countersign_config_rejected 0\n") || !strings.Contains(told, `countersign_patrol_probes_total{kind="mcp_server",outcome="passed"}`) {
		t.Errorf("the metrics do not tell that it is over:\n%s", told)
	}
	if code := server.end(t); code != exitYes {
		t.Errorf("serve ended with %d", code)
	}
	log := server.log.String()
	if strings.Contains(log, "needs a restart") {
		t.Errorf("it wants a restart for what a flag has overruled:\n%s", log)
	}
	for _, want := range []string{
		`"added":1,"removed":0,"changed":0`, "the configuration was rejected", `there is no kind`, `"added":0,"removed":1,"changed":0`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %s:\n%s", want, log)
		}
	}
}

func TestChangesBetween_countsComponents(t *testing.T) {
	t.Parallel()
	component := func(name, url string, interval time.Duration) registry.Component {
		return registry.Component{Name: name, Interval: interval, Spec: &registry.MCPServer{URL: url}}
	}
	before := &registry.Registered{Components: []registry.Component{
		component("same", "http://a", 0), component("moved", "http://a", 0), component("slower", "http://a", 0), component("gone", "http://a", 0),
	}}
	after := &registry.Registered{Components: []registry.Component{
		component("new", "http://a", 0), component("same", "http://a", 0), component("moved", "http://b", 0), component("slower", "http://a", time.Hour),
	}}
	if got, want := changesBetween(before, after), (registeredChanges{added: 1, removed: 1, changed: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// What a page prints is copied into another shell, in another folder.
func TestServe_printsCommandsThatFindItsDatabaseAndItsFile(t *testing.T) {
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8484}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		database              string
		chosen, flag          bool
		file                  string
		forTasks, forRegistry string
	}{
		"by default":       {"/home/ada/gate.db", false, false, "", "", ""},
		"with --db":        {"/srv/gate.db", true, true, "", "--db /srv/gate.db", "--db /srv/gate.db"},
		"db of the file":   {"/srv/gate.db", true, false, "", "--db /srv/gate.db", ""},
		"with --config":    {"/srv/gate.db", true, false, "/etc/gate.yaml", "--db /srv/gate.db", "--config /etc/gate.yaml"},
		"with both":        {"postgres://db.internal/gate", true, true, "my own.yaml", "--db postgres://db.internal/gate", "--config '" + folder + "/my own.yaml' --db postgres://db.internal/gate"},
		"with an odd name": {"/srv/it's;rm.db", true, false, "", `--db '/srv/it'\''s;rm.db'`, ""},
	} {
		begun := newServing(address, c.database, c.chosen).asStarted(c.file, c.flag)
		if begun.forTasks != c.forTasks || begun.forRegistry != c.forRegistry {
			t.Errorf("%s: %q and %q, want %q and %q", name, begun.forTasks, begun.forRegistry, c.forTasks, c.forRegistry)
		}
	}
}

// A page says from which file nothing was registered, in words that hold in every folder.
func TestServing_namesItsFileOrWhereItLookedForOne(t *testing.T) {
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8484}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]web.Source{
		"":        {LookedFor: []string{folder + "/a.yaml", "/etc/b.yaml"}},
		"my.yaml": {File: folder + "/my.yaml"},
	} {
		begun := newServing(address, "/srv/gate.db", true).registering(&config.Config{File: file}, []string{"a.yaml", "/etc/b.yaml"})
		if diff := cmp.Diff(want, begun.source()); diff != "" {
			t.Errorf("with the file %q (-want +got):\n%s", file, diff)
		}
	}
}

func TestServe_showsCommandsAsItWasStarted(t *testing.T) {
	f := newFleet(t)
	server := f.serve(t, "--db", "my.db")
	whole, err := filepath.Abs("my.db")
	if err != nil {
		t.Fatal(err)
	}
	_, page := ask(t, http.MethodGet, server.URL+"/runs/nightly", "", nil)
	_, tasks := ask(t, http.MethodGet, server.URL+"/tasks", "", nil)
	for text, wanted := range map[string]string{page: "countersign preflight nightly ", tasks: "countersign task create "} {
		if _, rest, ok := strings.Cut(text, wanted); !ok || !strings.Contains(rest[:min(len(rest), 300)], "--db "+whole) {
			t.Errorf("no command %sreaches %s:\n%.300s", wanted, whole, rest)
		}
	}
}

// A page prints its commands for who stands in another folder than the server, which
// has found its file in its own.
func TestServe_printsCommandsThatWorkInAnotherFolder(t *testing.T) {
	f := newFleet(t)
	if err := os.WriteFile("countersign.yaml", []byte("db: gate.db\n"+f.configuration()), 0o600); err != nil {
		t.Fatal(err)
	}
	server := f.serve(t)
	_, page := ask(t, http.MethodGet, server.URL+"/runs/nightly", "", nil)
	_, rest, _ := strings.Cut(page, "countersign preflight nightly")
	flags, _, _ := strings.Cut(rest, "</code>")
	t.Chdir(t.TempDir())
	if code, out, complaint := f.run(append([]string{"preflight", "nightly"}, strings.Fields(html.UnescapeString(flags))...)...); code != exitYes {
		t.Errorf("preflight nightly%s: exit %d\n%s%s", flags, code, out, complaint)
	}
}

// offered are the parts of a configuration that a page offers.
var offered = regexp.MustCompile(`aria-label="A (?:configuration file|part of a configuration file)"><code>([^<]*)</code>`)

// Who is new pastes one below the other.
func TestServe_offersNewcomersAConfigurationThatIsValid(t *testing.T) {
	s := newShell(t)
	server := s.serve(t)
	_, page := ask(t, http.MethodGet, server.URL+"/", "", nil)
	var parts []string
	for _, match := range offered.FindAllStringSubmatch(page, -1) {
		parts = append(parts, html.UnescapeString(match[1]))
	}
	if len(parts) != 2 {
		t.Fatalf("the page offers %d parts, want that of components and that of runs", len(parts))
	}
	file := filepath.Join(t.TempDir(), "countersign.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(parts, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(file)
	if err != nil {
		t.Fatalf("%s\nis refused: %v", strings.Join(parts, "\n"), err)
	}
	if registered := loaded.Registered(); len(registered.Components) != 1 || len(registered.Runs) != 1 {
		t.Errorf("it registers %d components and %d runs", len(registered.Components), len(registered.Runs))
	}
}
