package registry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// KindMCPServer is proven by the three gates.
const KindMCPServer Kind = "mcp_server"

// ofMCPServers is their row of the table. The causes of the gates are common to
// all kinds.
func ofMCPServers() kindOf {
	return kindOf{kind: KindMCPServer, hasTools: true, decode: func(document []byte) (Result, error) {
		var result ProbeResult
		if err := result.UnmarshalJSON(document); err != nil {
			return nil, err
		}
		return &result, nil
	}}
}

// Protocol is the profile of a server that offers nothing but MCP: g1 asks
// whether it is alive, and g2 is its canary.
const Protocol Profile = "protocol"

// MCPServer is a component of the kind mcp_server. Exactly one of URL and
// Command is set.
type MCPServer struct {
	// URL is the base address of the gates in the profile three-gates, and the MCP
	// endpoint itself in the profile protocol. It holds no user and no password;
	// the query of an endpoint may hold a key and is not to be shown.
	URL string
	// MCPURL is the MCP endpoint in the profile three-gates; empty for URL/mcp.
	MCPURL string

	Command []string          // the program and its arguments, started without a shell
	Env     map[string]Secret // added to the environment of the program
	Dir     string            // its working directory, absolute; empty for that of Countersign

	Profile      Profile
	Credentials  Credentials
	RequireTools []string // tools that g3 must find, apart from finding any
	ExpectServer string   // the name that the server must give itself; empty for any
	Canary       *Canary  // nil when none is declared
	Drift        Drifting `json:"-"` // what a change of its tools does to a preflight; no result depends on it
	Private      []Secret // what else of it may be secret, such as a key in the query of its address
}

// Drifting says what becomes of a server whose tools are not the accepted ones.
type Drifting string

// A drift is told, or it keeps a run from starting until it is accepted.
const (
	DriftWarns  Drifting = "warn" // the default
	DriftBlocks Drifting = "block"
)

// Kind implements Spec.
func (s *MCPServer) Kind() Kind { return KindMCPServer }

// Secrets implements Spec.
func (s *MCPServer) Secrets() []Secret {
	var secrets []Secret
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		secrets = append(secrets, s.Env[name])
	}
	return append(append(secrets, s.Credentials.Secrets()...), s.Private...)
}

// Host implements Spec: the host and port of the address, or the program.
func (s *MCPServer) Host() string {
	if len(s.Command) > 0 {
		return s.Command[0]
	}
	address, err := url.Parse(s.URL)
	if err != nil {
		return s.URL
	}
	return address.Host
}

// BlocksDrift reports whether a change of the tools keeps a run from starting.
func (s *MCPServer) BlocksDrift() bool { return s.Drift == DriftBlocks }

// Summary implements Result.
func (r *ProbeResult) Summary() Summary {
	summary := Summary{
		ProbedAt: r.ProbedAt, Causes: []Cause{}, Proof: r.proof(),
		Tools: r.Tools, ServerVersion: r.Server.Version, ToolsDigest: r.ToolsDigest,
		Parts: timed(r.parts()), Sessions: Opened{r.SessionsOpened + r.ProcessesStarted, r.SessionsClosed + r.ProcessesEnded},
	}
	for _, gate := range Gates() {
		got := r.Gate(gate)
		summary.Latency = max(summary.Latency, got.Took())
		if !got.OK && !slices.Contains(summary.Causes, got.Cause) {
			summary.Causes = append(summary.Causes, got.Cause)
		}
	}
	if !r.Passed() && len(summary.Causes) == 0 { // each gate holds, over an empty list
		summary.Causes = []Cause{ZeroTools}
	}
	summary.Outcome = outcomeOf(r.Passed(), summary.Causes)
	if summary.Outcome == OutcomePassed {
		summary.Reason = r.degraded()
		summary.Degraded = summary.Reason != ""
	} else {
		summary.Reason = Shorten(cmp.Or(r.failures(), string(ListTools)+": "+string(ZeroTools)), MaxDetail)
	}
	return summary
}

// failures is Error, but for naming gates that failed in the same words together.
func (r *ProbeResult) failures() string { return failuresOf(r.parts()) }

// ListedTools are the tools that the server has described.
func (r *ProbeResult) ListedTools() []Tool { return r.ToolList }

// part is a gate, or what beside the gates has to hold, with its name.
type part struct {
	name string
	got  GateResult
}

// parts are the gates, in the order in which they are shown.
func (r *ProbeResult) parts() []part {
	var parts []part
	for _, gate := range Gates() {
		parts = append(parts, part{string(gate), r.Gate(gate)})
	}
	return parts
}

// failuresOf joins why parts failed; those that failed in the same words are named
// together.
func failuresOf(parts []part) string {
	var said []string
	names := map[string][]string{}
	for _, each := range parts {
		if each.got.OK {
			continue
		}
		words := each.got.failure()
		if names[words] == nil {
			said = append(said, words)
		}
		names[words] = append(names[words], each.name)
	}
	for i, words := range said {
		said[i] = strings.Join(names[words], ", ") + words
	}
	return strings.Join(said, "; ")
}

// proof is what Passed is computed from.
func (r *ProbeResult) proof() json.RawMessage {
	return fmt.Appendf(nil, `{"healthz":%t,"test":%t,"listTools":%t,"toolCount":%d}`,
		r.Healthz.OK, r.Test.OK, r.ListTools.OK, r.ListTools.ToolCount)
}

// degraded names the optional dependencies that g2 says cannot be executed.
func (r *ProbeResult) degraded() string {
	var broken []string
	for _, name := range slices.Sorted(maps.Keys(r.Dependencies)) {
		var entry map[string]json.RawMessage // names are matched case-sensitively
		if json.Unmarshal(r.Dependencies[name], &entry) == nil && string(entry["executable"]) == "false" {
			broken = append(broken, name)
		}
	}
	if len(broken) == 0 {
		return ""
	}
	return Shorten("not executable: "+strings.Join(broken, ", "), MaxDetail)
}
