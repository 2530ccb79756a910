package web_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/web"
)

// foreign says how texts of strangers read in a scene.
type foreign func(plain string) string

// asItIs leaves them.
func asItIs(plain string) string { return plain }

// hostileText makes each of them an attack, and long.
func hostileText(plain string) string {
	return plain + hostile + "javascript:alert(1)" + strings.Repeat("W", 10<<10)
}

// transcript is what was exchanged in a gate that failed.
func (f foreign) transcript() *registry.Transcript {
	return &registry.Transcript{
		Curl: f("curl --header \"Authorization: Bearer $TOKEN\" http://127.0.0.1:3000/test"), LeftOut: 1,
		Variables: []registry.Variable{{Name: "TOKEN", Means: f("the secret env:SCANNER_TOKEN")}},
		Exchanges: []registry.Exchange{{
			Request: registry.HTTPMessage{Line: f("GET http://127.0.0.1:3000/test"), Header: []string{f("Accept: application/json")}},
			Response: &registry.HTTPMessage{
				Line: f("503 Service Unavailable"), Header: []string{f("Content-Type: application/json")}, Body: f(`{"ok": false}`), BodyBytes: 13,
			},
			Error: f("connection reset"), Timings: registry.Phases{ConnectMs: 0.4, TotalMs: 3.2},
		}},
		Messages: []registry.WireMessage{{Sent: true, Text: f(`{"jsonrpc":"2.0"}`), Bytes: 17}, {Text: f("oops"), Bytes: 4}},
		Stderr:   f("Traceback: no index"),
	}
}

// server is the result of a server whose gates test and listTools failed in the same
// exchange.
func (f foreign) server() *registry.ProbeResult {
	shared := f.transcript()
	failed := registry.Fail(3*time.Millisecond, registry.NotOK, f("required tools unusable: nmap"))
	failed.Transcript = shared
	again := registry.Fail(5*time.Millisecond, registry.NotOK, f("the same"))
	again.Transcript = shared
	return &registry.ProbeResult{
		Target: "scanner", Profile: registry.ThreeGates, ProbedAt: noon.Add(-4 * time.Second),
		Healthz: registry.Pass(1200*time.Microsecond, f("status 200")), Test: failed,
		ListTools: registry.ToolsResult{GateResult: again, ToolCount: 2},
		Tools:     []string{f("list"), f("scan")}, ToolsDigest: "sha256:" + strings.Repeat("ab", 32),
		Dependencies: map[string]json.RawMessage{
			f("curl"): json.RawMessage(`{"executable":true}`), f("nmap"): f.dependency(), f("zmap"): json.RawMessage(`"odd"`),
		},
		Era: registry.Modern, Transport: registry.StreamableHTTP, ProtocolVersion: f("2026-07-28"),
		Server: registry.Server{Name: f("port-scanner"), Version: f("1.4.0")}, Timings: registry.Timings{ConnectMs: 0.4, ListMs: 12},
		Warnings: []string{f("test: 3 of 5 entries were too large to keep")}, SessionsOpened: 1, SessionsClosed: 1,
	}
}

func (f foreign) dependency() json.RawMessage {
	entry, _ := json.Marshal(map[string]any{"executable": false, "detail": f("libpcap is missing")}) // it always encodes
	return entry
}

// results are one of each kind, by the name of its component.
func (f foreign) results() map[string]registry.Result {
	held := registry.Pass(2*time.Millisecond, f("it holds"))
	canary := *f.server()
	canary.Profile, canary.LikelyCanary = registry.Protocol, "list_folder"
	canary.Test = registry.Fail(0, registry.NotConfigured, f("no canary is declared"))
	canary.ListTools.GateResult = held
	well := canary
	well.Test, well.Healthz = held, held
	old := registry.Fail(0, registry.Overloaded, f("no room"))
	return map[string]registry.Result{
		"scanner": f.server(),
		"files":   &canary,
		"handbook": &registry.KnowledgeBaseResult{Gates: well, Retrieve: registry.RetrievalResult{
			GateResult: registry.Fail(7*time.Millisecond, registry.MissingChunk, f("3 chunks, without passwords")),
			Retrieved: registry.Retrieved{
				Chunks: 3, FoundIDs: []string{f("a")}, MissingIDs: []string{f("passwords")}, Version: f("v6"), Pinned: f("v7"), Warnings: []string{f("odd")},
			},
		}},
		"writer": &registry.ModelResult{
			Target: "writer", Provider: registry.ProviderOpenAI, Mode: registry.ModeChat, Model: f("adder-1"), ProbedAt: noon.Add(-time.Minute),
			Invoke: held, Requests: 2, Timings: registry.Phases{TotalMs: 1400}, StatedModel: f("other-1"), Finish: f("stop"),
			Tokens: registry.Tokens{Input: 20, Output: 6}, Content: []registry.Content{registry.ContentText},
			Sum: &registry.Sum{Left: 21, Right: 45, Answer: new(65)}, Warnings: []string{f("slow")},
		},
		"image": &registry.HarnessResult{
			Target: "image", Image: f("registry.example/tools/scan@sha256:00"), Digest: "sha256:" + strings.Repeat("cd", 32), ProbedAt: noon.Add(-time.Minute),
			Resolved: held, Signed: &held, Scanned: held, Subject: held, Recent: old, Covered: old,
			Clean: registry.Fail(0, registry.Timeout, f("2 findings block")),
			Report: &registry.ScanReport{
				Format: f("trivy"), Source: f("referrer"), Scanner: f("trivy 1"), ScannedAt: noon.Add(-26 * time.Hour), DatabaseAt: noon.Add(-50 * time.Hour),
				Packages: 212, System: f("debian 12"), Severities: map[registry.Severity]int{registry.SeverityHigh: 2, registry.SeverityLow: 1},
			},
			Blocking: 1, Findings: []registry.Finding{{ID: f("CVE-2026-1"), Severity: registry.SeverityHigh, Package: f("zlib"), Version: f("1.2"), Fixed: f("1.3")}},
			Allowed: []registry.Finding{{ID: f("CVE-2026-2"), Severity: registry.SeverityHigh, Allowed: f("2026-03-01")}}, Warnings: []string{f("old")},
		},
	}
}

// fleet is a registry with life in it.
func (f foreign) fleet(t *testing.T) *fleetDouble {
	t.Helper()
	made := &fleetDouble{views: map[string]registry.ComponentView{}, recent: map[string][]registry.RecentResult{}}
	results := f.results()
	for _, name := range slices.Sorted(maps.Keys(results)) {
		result := results[name]
		document, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		summary := result.Summary()
		id := "01a22df7-0000-7000-8000-" + strings.Repeat("0", 12-len(name)) + strings.Map(hexOnly, name)
		kept := registry.KeptResult{
			ResultID: id, Component: name, Kind: kindOf(result), ProbedAt: noon.Add(-4 * time.Second).Format(time.RFC3339),
			Outcome: summary.Outcome, Causes: summary.Causes, Reason: f(summary.Reason), LatencyMs: 3.2, Result: document,
		}
		made.results = append(made.results, kept)
		made.views[name] = registry.ComponentView{
			Reading: registry.Reading{
				Name: name, Kind: kept.Kind, Status: registry.Unavailable, Reason: kept.Reason, Causes: summary.Causes,
				AgeMs: new(int64(4000)), ResultID: new(id), Since: noon.Add(-17 * time.Minute).Format(time.RFC3339),
			},
			Result: document,
		}
		made.recent[name] = []registry.RecentResult{
			{Outcome: registry.OutcomePassed, Latency: 9 * time.Millisecond, Proof: summary.Proof},
			{Outcome: registry.OutcomeUndecided, Latency: time.Millisecond, Proof: summary.Proof},
			{Outcome: summary.Outcome, Latency: 1200 * time.Millisecond, Proof: summary.Proof},
		}
		made.registered.Components = append(made.registered.Components, registry.Component{Name: name, Spec: f.spec(kept.Kind), Rise: 2, Fall: 3})
	}
	f.history(made)
	f.lists(made)
	return made
}

// spec is what a component of a kind is.
func (f foreign) spec(kind registry.Kind) registry.Spec {
	server := registry.MCPServer{URL: "https://scan.example/" + f("mcp") + "?key=hunter2"}
	switch kind {
	case registry.KindModel:
		return &registry.Model{Model: f("adder-1"), BaseURL: "https://models.example/v1?key=hunter2"}
	case registry.KindHarness:
		return &registry.Harness{Image: f("registry.example/tools/scan@sha256:00")}
	case registry.KindKnowledgeBase:
		return &registry.KnowledgeBase{MCPServer: server}
	case registry.KindMCPServer:
	}
	return &server
}

// history adds what became of the scanner.
func (f foreign) history(made *fleetDouble) {
	view := made.views["scanner"]
	view.Drifting, view.AcceptedDigest, view.AcceptedAt = registry.DriftBlocks, "sha256:"+strings.Repeat("ef", 32), noon.Add(-48*time.Hour).Format(time.RFC3339)
	view.Drift = &registry.Drift{
		Added: []string{f("dig"), f("whois")}, Removed: []string{f("ping")}, Abridged: true,
		New: []registry.NewTool{{Name: f("whois"), Texts: []registry.TextChange{
			{What: "description", After: new(f("Ask who owns a name."))}, {What: "inputSchema", At: f("properties.name"), After: new(f(`{"type":"string"}`))},
		}}},
		Changed: []registry.ToolChange{{Name: f("scan"), What: []string{"description"}, Texts: []registry.TextChange{
			{What: "description", Before: new(f("Scan\na host.")), After: new(f("Scan\ta host.")), LeftOut: 12},
			{What: "inputSchema", At: f("properties.host"), After: new("")},
		}}},
	}
	view.Changes = []registry.Change{
		{Component: "scanner", At: noon.Add(-17 * time.Minute), From: registry.Available, To: registry.Unavailable, Causes: []registry.Cause{registry.NotOK}, ResultID: *view.ResultID},
		{Component: "scanner", At: noon.Add(-20 * time.Hour), From: registry.Probing, To: registry.Available, Causes: []registry.Cause{}, Redefined: true},
		{Component: "scanner", At: noon.Add(-24 * time.Hour), From: registry.Probing, To: registry.Available, Causes: []registry.Cause{}},
	}
	hour := func(ago time.Duration, passed, failed, undecided int) registry.Hour {
		one := registry.Hour{Component: "scanner", Start: noon.Add(-ago), Passed: passed, Failed: failed, Undecided: undecided}
		one.LatencyMs.Sum = 40
		return one
	}
	view.Hours = []registry.Hour{hour(0, 0, 4, 0), hour(time.Hour, 18, 2, 0), hour(2*time.Hour, 20, 0, 0), hour(5*time.Hour, 0, 0, 3)}
	view.Slots = []string{"recon", "spare"}
	files := made.views["files"]
	files.Slots = []string{"spare"}
	made.views["files"] = files
	made.views["scanner"] = view
	made.registered.Slots = []registry.Slot{{Name: "recon", Primary: "scanner"}, {Name: "spare", Primary: "files", Fallbacks: []string{"scanner"}}}
	made.registered.Runs = []registry.Run{{Name: "nightly", Slots: []registry.RunSlot{{Slot: "recon", Required: true}}}, {Name: "weekly", Slots: []registry.RunSlot{{Slot: "recon"}}}}
}

// lists makes the lists of all, in the order of their names.
func (f foreign) lists(made *fleetDouble) {
	for _, name := range []string{"files", "handbook", "image", "scanner", "writer"} {
		made.readings = append(made.readings, made.views[name].Reading)
	}
	calm := registry.Reading{Name: "calm", Kind: registry.KindMCPServer, Status: registry.Available, AgeMs: new(int64(9000)), Since: noon.Add(-time.Hour).Format(time.RFC3339)}
	shaky := calm
	shaky.Name, shaky.Flapping, shaky.Degraded, shaky.Reason = "shaky", true, true, f("not executable: chromium")
	begun := registry.Reading{Name: "begun", Kind: registry.KindHarness, Status: registry.Probing, Reason: "it has not been probed yet"}
	made.readings = append(made.readings, shaky, begun, calm)
	made.recent["calm"] = []registry.RecentResult{{Outcome: registry.OutcomePassed, Proof: json.RawMessage(`{"healthz":true,"test":true,"listTools":true,"toolCount":3}`)}}
	made.wants = map[string]registry.Wanted{
		"scanner": {Need: registry.NeedRefuses, Run: "nightly"}, "files": {Need: registry.NeedSlot},
		"handbook": {Need: registry.NeedFallback, Run: "weekly"}, "begun": {Need: registry.NeedSlot},
	}
	made.counts = registry.StatusCounts{Available: 2, Unavailable: 5, Probing: 1, Attention: 7}
	made.runs = someRuns()
}

func kindOf(result registry.Result) registry.Kind {
	switch result.(type) {
	case *registry.ModelResult:
		return registry.KindModel
	case *registry.HarnessResult:
		return registry.KindHarness
	case *registry.KnowledgeBaseResult:
		return registry.KindKnowledgeBase
	}
	return registry.KindMCPServer
}

// hexOnly makes a name part of an id.
func hexOnly(r rune) rune {
	if r >= 'a' && r <= 'f' {
		return r
	}
	return '0'
}

// opened are options with a whole scene behind them.
func (f foreign) opened(t *testing.T) web.Options {
	t.Helper()
	fleet := f.fleet(t)
	return web.Options{
		Version: "0.0.0", URL: "http://127.0.0.1:1", OverHTTP: "{\n  \"mcpServers\": {}\n}", OverStdio: `{"command": "countersign"}`,
		Registry: web.RegistryClients{OverHTTP: "{}", OverStdio: `{"args": ["mcp"]}`}, Fleet: fleet, Runs: fleet,
		Tasks: &gateDouble{}, Agents: &countDouble{},
	}
}
