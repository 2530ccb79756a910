package config

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

var update = flag.Bool("update", false, "write the expected problems anew")

// canarySecret stands in the test files wherever a secret could.
const canarySecret = "correct-horse"

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "countersign.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCheck_reportsEveryProblemWithItsLineAndACaret(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "problems", "*.txtar"))
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			loaded, invalid := parse("file.yaml", "/srv", string(archive.Files[0].Data))
			if loaded != nil || invalid == nil {
				t.Fatal("the file is called valid")
			}
			got := invalid.Error() + "\n"
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: "problems", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if len(archive.Files) != 2 {
				t.Fatal("the file tells no problems; run with -update")
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			asJSON, err := json.Marshal(invalid.fault())
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got, canarySecret) || strings.Contains(string(asJSON), canarySecret) {
				t.Error("a secret is repeated")
			}
		})
	}
}

const whole = `
listen: localhost:8484
db: data/gate.db
network:
  allow: [10.1.2.3/8, "*.Example.org:443", "[::1]:80", "::ffff:10.0.0.0/104"]
  deny: [192.0.2.7]
components:
  zed:
    kind: mcp_server
    url: http://127.0.0.1:8080/base
    mcp_url: http://127.0.0.1:8080/other?key=k-1
    interval: 30s
    timeout: 500ms
    ttl: 2m
    probing_deadline: 1m
    rise: 2
    fall: 3
    drift: block
    credentials:
      headers: {x-key: file:key, Authorization: env:AUTH}
      client_cert: file:/etc/cert.pem
      client_key: file:/etc/key.pem
    require_tools: [nmap_scan, 'b c']
    expect_server: asm
    canary: {tool: t, arguments: {a: [1, 2.5, null, true, "x"], b: {c: d}}, expect: {path: "$.a", equals: {b: [1]}}, force: true}
  files:
    kind: mcp_server
    command: [npx, -y, server]
    env: {MODE: fast, TOKEN: env:TOKEN}
    canary: {tool: t, expect: {matches: '^a\d$'}}
  api:
    kind: mcp_server
    url: https://api.example.org/mcp
    profile: protocol
    credentials: {oauth: {issuer: https://login.example.org, token_url: https://login.example.org/t, client_id: me, client_secret: env:S, scopes: [a]}}
    canary: {tool: t, expect: {path: "$.a", min_count: 2}}
slots:
  recon: {primary: zed, fallbacks: [files, api], require_tools: [nmap_scan], min_version: "7.80", max_age: 5m}
  any: {primary: api}
  unused: {primary: api}
runs:
  nightly: {slots: {recon: required, any: optional}}
  adhoc: {slots: {any, recon: }}
retention: {raw: 24h, hourly: 720h, max_bytes: 500MB}
patrol: {concurrency: 8, per_host: 2}
front:
  listen: 127.0.0.1:0
  test:
    executables:
      nmap: {args: [-V], matches: Nmap, min_version: "7.80", optional: true}
      tool: {path: bin/tool, exit_code: 2}
    http: {feed: {url: https://feed.example.org/ready, status: 204, optional: true}}
    canary: {tool: t}
`

// meantByWhole is what the text whole means in a folder.
func meantByWhole(folder string) *Config {
	at, text := registry.SecretAt, registry.SecretText
	return &Config{
		File:   filepath.Join(folder, "countersign.yaml"),
		Listen: "localhost:8484",
		Slots: []registry.Slot{
			{
				Name: "recon", Primary: "zed", Fallbacks: []string{"files", "api"}, RequireTools: []string{"nmap_scan"},
				MinVersion: "7.80", MaxAge: 5 * time.Minute,
			},
			{Name: "any", Primary: "api"},
			{Name: "unused", Primary: "api"},
		},
		Runs: []registry.Run{
			{Name: "nightly", Slots: []registry.RunSlot{{Slot: "recon", Required: true}, {Slot: "any"}}},
			{Name: "adhoc", Slots: []registry.RunSlot{{Slot: "any", Required: true}, {Slot: "recon", Required: true}}},
		},
		Retention: registry.Retention{Raw: 24 * time.Hour, Hourly: 720 * time.Hour, MaxBytes: 500_000_000},
		Patrol:    Patrol{Concurrency: 8, PerHost: 2},
		DB:        text(filepath.Join(folder, "data/gate.db")),
		Network: registry.Network{
			Allow: []registry.NetworkRule{
				{Prefix: netip.MustParsePrefix("10.0.0.0/8")},
				{Host: "*.example.org", Port: 443},
				{Prefix: netip.MustParsePrefix("::1/128"), Port: 80},
				{Prefix: netip.MustParsePrefix("10.0.0.0/8")},
			},
			Deny: []registry.NetworkRule{{Prefix: netip.MustParsePrefix("192.0.2.7/32")}},
		},
		Components: []registry.Component{
			{
				Name: "zed", Interval: 30 * time.Second, Timeout: 500 * time.Millisecond,
				TTL: 2 * time.Minute, ProbingDeadline: time.Minute, Rise: 2, Fall: 3,
				Spec: &registry.MCPServer{
					Profile: registry.ThreeGates, Drift: registry.DriftBlocks,
					URL: "http://127.0.0.1:8080/base", MCPURL: "http://127.0.0.1:8080/other?key=k-1",
					Credentials: registry.Credentials{
						Headers:    map[string]registry.Secret{"X-Key": at("file:" + folder + "/key"), "Authorization": at("env:AUTH")},
						ClientCert: at("file:/etc/cert.pem"), ClientKey: at("file:/etc/key.pem"),
					},
					RequireTools: []string{"nmap_scan", "b c"},
					ExpectServer: "asm",
					Canary: &registry.Canary{
						Tool: "t", Arguments: json.RawMessage(`{"a":[1,2.5,null,true,"x"],"b":{"c":"d"}}`),
						Expect: registry.Expectation{Path: "$.a", Equals: json.RawMessage(`{"b":[1]}`)}, Force: true,
					},
					Private: []registry.Secret{text("k-1")},
				},
			},
			{
				Name: "files", Spec: &registry.MCPServer{
					Profile: registry.Protocol, Drift: registry.DriftWarns,
					Command: []string{"npx", "-y", "server"}, Dir: folder,
					Env:    map[string]registry.Secret{"MODE": text("fast"), "TOKEN": at("env:TOKEN")},
					Canary: &registry.Canary{Tool: "t", Expect: registry.Expectation{Matches: regexp.MustCompile(`^a\d$`)}},
				},
			},
			{
				Name: "api", Spec: &registry.MCPServer{
					Profile: registry.Protocol, Drift: registry.DriftWarns, URL: "https://api.example.org/mcp",
					Credentials: registry.Credentials{OAuth: &registry.OAuth{
						Issuer: "https://login.example.org", TokenURL: "https://login.example.org/t", ClientID: "me",
						ClientSecret: at("env:S"), Scopes: []string{"a"},
					}},
					Canary: &registry.Canary{Tool: "t", Expect: registry.Expectation{Path: "$.a", MinCount: 2}},
				},
			},
		},
		Front: Front{
			Listen: "127.0.0.1:0",
			Executables: []Executable{
				{Name: "nmap", Path: "nmap", Args: []string{"-V"}, Matches: regexp.MustCompile("Nmap"), MinVersion: "7.80", Optional: true},
				{Name: "tool", Path: filepath.Join(folder, "bin/tool"), ExitCode: 2},
			},
			HTTP:   []HTTPCheck{{Name: "feed", URL: "https://feed.example.org/ready", Status: 204, Optional: true}},
			Canary: &registry.Canary{Tool: "t"},
		},
	}
}

func TestLoad_givesAllThatTheFileSays(t *testing.T) {
	t.Parallel()
	file := write(t, whole)
	got, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	options := cmp.Options{
		cmpopts.IgnoreUnexported(Config{}),
		cmp.Comparer(func(a, b *regexp.Regexp) bool { return a == b || a != nil && b != nil && a.String() == b.String() }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	}
	if diff := cmp.Diff(meantByWhole(filepath.Dir(file)), got, options); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if each, ok := got.Component("files"); !ok || each.Name != "files" {
		t.Errorf("component files is %v, %v", each, ok)
	}
	if _, ok := got.Component("other"); ok {
		t.Error("there is a component other")
	}
}

func TestLoad_everythingMayBeLeftOut(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "\n# nothing\n", "---\n", "\ufeffcomponents: {}\r\nnetwork:\r\nfront:\r\n", "components:\n"} {
		if got, err := Load(write(t, content)); err != nil || len(got.Components) != 0 {
			t.Errorf("%q: %v, %v", content, got, err)
		}
	}
}

func TestLoad_tellsAMissingFileFromAnInvalidOne(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, each := range []struct {
		file string
		want fault.Code
	}{
		{filepath.Join(folder, "absent.yaml"), fault.NotFound},
		{folder, fault.Unavailable},
		{write(t, strings.Repeat("#", MaxFileBytes+1)), fault.TooLarge},
		{write(t, "a: b"), fault.InvalidArgument},
		{write(t, "listen: \xff"), fault.InvalidArgument},
	} {
		if got, err := Load(each.file); got != nil || !errors.Is(err, each.want) {
			t.Errorf("%s: got %v, %v; want %s", each.file, got, err, each.want)
		}
	}
}

// TestParse_isBounded hands over texts that would keep the parser busy for
// minutes or overflow its stack.
func TestParse_isBounded(t *testing.T) {
	t.Parallel()
	const times = 200_000
	for name, text := range map[string]string{
		"brackets":         strings.Repeat("[", times),
		"braces":           strings.Repeat("{a: ", times),
		"quoted brackets":  "a: " + strings.Repeat(`["]",`, times),
		"lines in quotes":  "a: " + strings.Repeat("[\"\n]\n\",", times),
		"comments":         "a: " + strings.Repeat("[ # ]\n ", times),
		"quotes, comments": "a: " + strings.Repeat("\" # \",[", times),
		"dashes":           strings.Repeat("- ", times),
		"question marks":   strings.Repeat("? ", times),
		"keys on a line":   strings.Repeat("a: ", times),
		"quoted on a line": strings.Repeat(`"a" `, times),
		"anchors":          strings.Repeat("a: &a\n", times),
		"aliases":          "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]",
		"elements":         "a: [" + strings.Repeat("b,", 3*times) + "]",
		"problems":         strings.Repeat("- a\n", times),
		"unknown keys":     "{" + strings.Repeat("a: b, ", 60_000) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, invalid := parse("file.yaml", "/", text)
			if invalid == nil || len(invalid.Problems) > MaxProblems {
				t.Fatalf("got %v", invalid)
			}
			for _, problem := range invalid.Problems {
				if len(problem.String()) > 2000 {
					t.Errorf("a problem of %d bytes", len(problem.String()))
				}
			}
		})
	}
}

func TestParse_countsBracketsThatAreOpen(t *testing.T) {
	t.Parallel()
	text := "components:\n" + strings.Repeat(" ", 2)
	for i := range 2 * maxNesting {
		text += fmt.Sprintf("c%d: {kind: mcp_server, canary: {tool: t, expect: {matches: \"[[{]\"}}, url: \"http://127.0.0.1\"} # it's [ one\n  ", i)
	}
	if got, invalid := parse("file.yaml", "/", text); invalid != nil || len(got.Components) != 2*maxNesting {
		t.Errorf("brackets that are closed: %v", invalid)
	}
	for depth, wanted := range map[int]string{maxNesting + 1: "nested deeper than 32", maxNesting: "this is a list"} {
		_, invalid := parse("file.yaml", "/", "components: "+strings.Repeat("[", depth)+strings.Repeat("]", depth))
		if invalid == nil || !strings.Contains(invalid.Error(), wanted) {
			t.Errorf("%d brackets: %v", depth, invalid)
		}
	}
}

func TestParse_readsAsManyComponentsAsAreAllowed(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("components:\n")
	for i := range MaxComponents {
		fmt.Fprintf(&text, "  c%d:\n    kind: mcp_server\n    url: http://127.0.0.1:8080\n", i)
		text.WriteString("    canary: {tool: t, expect: {matches: \"[a-z]\"}} # it's [ one\n")
	}
	got, invalid := parse("file.yaml", "/", text.String())
	if invalid != nil || len(got.Components) != MaxComponents || got.Components[7].Name != "c7" {
		t.Fatalf("got %v", invalid)
	}
	if _, invalid := parse("file.yaml", "/", text.String()+"  more: {kind: mcp_server, url: http://127.0.0.1}\n"); invalid == nil || invalid.Total != 1 {
		t.Errorf("one component more: %v", invalid)
	}
}

func TestFind_looksInOrder(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	env := map[string]string{"HOME": filepath.Join(folder, "home"), "XDG_CONFIG_HOME": "relative"}
	getenv := func(name string) string { return env[name] }
	put := func(name string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	want := func(want string) {
		t.Helper()
		if got := Find("", getenv); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	want("")
	want(put(filepath.Join(folder, "home", ".config", "countersign", "countersign.yaml")))
	env["XDG_CONFIG_HOME"] = filepath.Join(folder, "xdg")
	want("")
	want(put(filepath.Join(folder, "xdg", "countersign", "countersign.yaml")))
	want(put("countersign.yaml"))
	if got := Find("other.yaml", getenv); got != "other.yaml" {
		t.Errorf("found %q", got)
	}
	if places := Places(func(string) string { return "" }); !slices.Equal(places, []string{"countersign.yaml"}) {
		t.Errorf("places are %v", places)
	}
}
