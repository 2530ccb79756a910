package registry

import "slices"

// Cause says why a gate failed. The list is closed.
type Cause string

// The causes. Denied and Overloaded are ours and say nothing about the server.
const (
	NotConfigured   Cause = "not_configured"
	DNS             Cause = "dns"
	Refused         Cause = "refused"
	Unreachable     Cause = "unreachable"
	TLS             Cause = "tls"
	Timeout         Cause = "timeout"
	Redirect        Cause = "redirect"
	HTTPStatus      Cause = "status"
	NotJSON         Cause = "not_json"
	WrongShape      Cause = "wrong_shape"
	NotOK           Cause = "not_ok"
	Auth            Cause = "auth"
	Forbidden       Cause = "forbidden"
	RateLimited     Cause = "rate_limited"
	NotMCP          Cause = "not_mcp"
	VersionMismatch Cause = "version_mismatch"
	Handshake       Cause = "handshake"
	ProtocolError   Cause = "protocol_error"
	ZeroTools       Cause = "zero_tools"
	MissingTool     Cause = "missing_tool"
	Identity        Cause = "identity"
	ToolsChanged    Cause = "tools_changed"
	CanaryFailed    Cause = "canary_failed"
	TooLarge        Cause = "too_large"
	ProcessExit     Cause = "process_exit"
	ProcessStart    Cause = "process_start"
	Denied          Cause = "denied"
	Overloaded      Cause = "overloaded"
	OldVersion      Cause = "old_version"
)

// CauseEntry is a row of the table of causes: what happened, and what to do next.
type CauseEntry struct {
	Cause    Cause
	Sentence string
	Hint     string
}

// Causes returns the table of causes in the order of the contract: those of the
// gates, that of slots, and then those that only one kind has.
func Causes() []CauseEntry {
	entries := GateCauses()
	for _, row := range kinds() {
		entries = append(entries, row.causes...)
	}
	return entries
}

// GateCauses returns the rows of the table that are common to all kinds.
func GateCauses() []CauseEntry {
	return []CauseEntry{
		{NotConfigured, "What the gate needs is not configured.", "Provide what the detail says is missing: a secret of the credentials, or a canary."},
		{DNS, "The host name could not be resolved.", "Check the spelling of the host and the resolver of this machine."},
		{Refused, "The address refuses connections.", "Start the server, or correct the port."},
		{Unreachable, "No HTTP answer could be had from the address.", "Check routes and firewalls, and that an HTTP server listens on this port."},
		{TLS, "The TLS handshake failed.", "Check that the port speaks TLS, and the names, dates and issuer of the certificate."},
		{Timeout, "The complete answer did not come in time.", "Look for what the server waits for; a slow but sound server needs a longer time-out (--timeout, or timeout in the file)."},
		{Redirect, "The answer is a redirect, and redirects are never followed.", "Give the final address."},
		{HTTPStatus, "The HTTP status is none of 2xx, which this gate needs.", "Check the path, and read the server's log of this request."},
		{NotJSON, "The body is not one JSON document in UTF-8.", "Answer with a JSON object and nothing before or after it."},
		{WrongShape, "The JSON does not have the form that is needed.", `Of /test: answer {"ok": true} or {"ok": false, "detail": "..."}, once, in lower case, without quotes.`},
		{NotOK, "The server itself says that it cannot do its work.", "Repair what the detail names; the server is up, so a restart alone may not help."},
		{Auth, "The server demands credentials (401).", "It is alive but not shown to work; give the probe access to it."},
		{Forbidden, "The server refuses this caller (403).", "Check the rights of the credentials, and the host names that the server admits."},
		{RateLimited, "The server refuses because of too many requests (429).", "Probe less often, or exempt the probe from the limit."},
		{NotMCP, "The answer is no JSON-RPC message, so this is no MCP endpoint.", "Check the endpoint's address; when it is not BASE/mcp, give it (--mcp-url, or mcp_url in the file)."},
		{VersionMismatch, "Server and prober have no protocol version in common.", "Update the one that is behind."},
		{Handshake, "The server answered the first request of the protocol with an error or an unusable result.", "Read the server's log; its own client should fail in the same way."},
		{ProtocolError, "After the handshake the server broke the protocol or answered with an error.", "Read the server's log of the tools/list request."},
		{ZeroTools, "The server lists no tools, so it can do nothing.", "Check what the server registers its tools from: a plug-in, a key, a file."},
		{MissingTool, "A required tool is not in the list.", "Enable the tool on the server, or correct its name where it is required."},
		{Identity, "Another server than the expected one answers at this address.", "Find out what took the address before anything else trusts it."},
		{ToolsChanged, "The tools are not the accepted ones.", "Compare, then accept the change or revert it."},
		{CanaryFailed, "A harmless call did not give what was expected.", "See the call with countersign probe TARGET --explain, and repair what it reports."},
		{TooLarge, "The answer passed a limit of size or number.", "Look for a server that never ends its answer or its pages."},
		{ProcessExit, "The server's process ended.", "Read its last words, which countersign probe TARGET --explain shows, and run the same command by hand."},
		{ProcessStart, "The server's process could not be started.", "Check the command, its path and its rights."},
		{Denied, "Countersign may not probe this address.", "Extend the allow-list if the address is meant to be probed."},
		{Overloaded, "Countersign itself could not carry out the gate; this says nothing about the server.", "Probe again; if it persists and the detail names no stall, report it as a defect."},
		{OldVersion, "The server's version is below the minimum of the slot.", "Update the server, or lower the slot's min_version."},
	}
}

// IsOurs reports whether a cause says nothing about the component: Countersign
// itself did not carry out the probe.
func (c Cause) IsOurs() bool {
	return c == Denied || c == Overloaded || slices.ContainsFunc(kinds(), func(row kindOf) bool {
		return slices.Contains(row.ours, c)
	})
}

// Entry returns the row of the table for c, and whether c is in the closed list.
func (c Cause) Entry() (CauseEntry, bool) {
	for _, entry := range Causes() {
		if entry.Cause == c {
			return entry, true
		}
	}
	return CauseEntry{}, false
}
