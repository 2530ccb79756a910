package registry

import (
	"encoding/json"
	"strings"
	"time"
)

// Profile says what the gates of a target are.
type Profile string

// ThreeGates is the profile of a server that offers /healthz and /test itself.
const ThreeGates Profile = "three-gates"

// Era is the generation of the protocol that a server was spoken to in.
type Era string

// The eras: with a handshake (to 2025-11-25), and without (from 2026-07-28).
const (
	Legacy Era = "legacy"
	Modern Era = "modern"
)

// Transport is how messages travelled.
type Transport string

// The transports: of the revisions since 2025-03-26, of 2024-11-05, and of
// servers that are started as a process.
const (
	StreamableHTTP Transport = "streamable-http"
	SSE            Transport = "sse"
	Stdio          Transport = "stdio"
)

// Server is what a server says of itself.
type Server struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Timings are the phases of g3 in milliseconds; those that did not occur are
// absent. Resolve, connect, TLS and first byte are those of the first exchange.
type Timings struct {
	ResolveMs   float64 `json:"resolveMs,omitempty"`
	ConnectMs   float64 `json:"connectMs,omitempty"`
	TLSMs       float64 `json:"tlsMs,omitempty"`
	FirstByteMs float64 `json:"firstByteMs,omitempty"`
	HandshakeMs float64 `json:"handshakeMs,omitempty"`
	ListMs      float64 `json:"listMs,omitempty"`
	CallMs      float64 `json:"callMs,omitempty"`
}

// ProbeResult is the evidence of one probe. It has no field that says "passed":
// Passed is computed from the gates, and the zero value has not passed.
type ProbeResult struct { //nolint:recvcheck // values are marshalled, and only a pointer can be unmarshalled into
	Target    string
	Profile   Profile
	Healthz   GateResult
	Test      GateResult
	ListTools ToolsResult
	ProbedAt  time.Time // when the probe began; kept in UTC to the millisecond

	ToolList        []Tool                     // as the server described them; not part of the document
	Tools           []string                   // the names, sorted
	ToolsDigest     string                     // "sha256:" and hexadecimal digits
	LikelyCanary    string                     // a tool that offers itself as the canary that is missing
	Dependencies    map[string]json.RawMessage // what g2 says of each of the server's tools
	Era             Era
	Transport       Transport
	ProtocolVersion string
	Server          Server
	Timings         Timings
	Warnings        []string
	SessionsOpened  int
	SessionsClosed  int

	// What was started to speak with, and what of it has ended; not part of the document.
	ProcessesStarted int
	ProcessesEnded   int
}

// Passed reports whether all three gates held and at least one tool is served.
func (r *ProbeResult) Passed() bool {
	return r.Healthz.OK && r.Test.OK && r.ListTools.OK && r.ListTools.ToolCount > 0
}

// Gate returns the result of one gate; that of an unknown gate is the zero
// value, which did not hold.
func (r *ProbeResult) Gate(gate Gate) GateResult {
	switch gate {
	case Healthz:
		return r.Healthz
	case Test:
		return r.Test
	case ListTools:
		return r.ListTools.GateResult
	}
	return GateResult{}
}

// Error joins the failure strings of the gates; empty when all of them held.
func (r *ProbeResult) Error() string {
	var failures []string
	for _, gate := range Gates() {
		if got := r.Gate(gate); !got.OK {
			failures = append(failures, string(gate)+got.failure())
		}
	}
	return strings.Join(failures, "; ")
}

// failure is why a gate failed, to stand behind its name.
func (g GateResult) failure() string {
	var words strings.Builder
	for _, word := range []string{string(g.Cause), g.Detail} {
		if word != "" {
			words.WriteString(": " + word)
		}
	}
	return words.String()
}

// MarshalJSON writes the document of the contract.
func (r ProbeResult) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Target          string                     `json:"target"`
		Profile         Profile                    `json:"profile"`
		Healthz         GateResult                 `json:"healthz"`
		Test            GateResult                 `json:"test"`
		ListTools       ToolsResult                `json:"listTools"`
		Passed          bool                       `json:"passed"`
		ProbedAt        string                     `json:"probedAt"`
		Error           string                     `json:"error,omitempty"`
		Tools           []string                   `json:"tools,omitempty"`
		ToolsDigest     string                     `json:"toolsDigest,omitempty"`
		LikelyCanary    string                     `json:"likelyCanary,omitempty"`
		Dependencies    map[string]json.RawMessage `json:"dependencies,omitempty"`
		Era             Era                        `json:"era,omitempty"`
		Transport       Transport                  `json:"transport,omitempty"`
		ProtocolVersion string                     `json:"protocolVersion,omitempty"`
		Server          Server                     `json:"server,omitzero"`
		Timings         Timings                    `json:"timings,omitzero"`
		Warnings        []string                   `json:"warnings,omitempty"`
		SessionsOpened  int                        `json:"sessionsOpened"`
		SessionsClosed  int                        `json:"sessionsClosed"`
	}{
		r.Target, r.Profile, r.Healthz, r.Test, r.ListTools, r.Passed(),
		Timestamp(r.ProbedAt), r.Error(), r.Tools, r.ToolsDigest, r.LikelyCanary, r.Dependencies,
		r.Era, r.Transport, r.ProtocolVersion, r.Server, r.Timings, r.Warnings,
		r.SessionsOpened, r.SessionsClosed,
	})
}

// timeForm is RFC 3339 in UTC with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

// Timestamp is a moment in RFC 3339, in UTC with milliseconds.
func Timestamp(at time.Time) string { return at.UTC().Format(timeForm) }
