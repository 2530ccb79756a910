// Package registry owns what is known about registered components: what they are,
// the evidence of a probe and the causes for which it fails, the status that
// results add up to, the slots of a run, its preflight and its ticket.
//
// It is pure: it knows no network, no database and no clock. Its one idea is
// that nothing can claim to have passed: that is computed from the evidence each
// time it is asked, as a status is, and a document that says otherwise does not
// decode.
package registry

import (
	"math"
	"time"
)

// Gate names one of the three checks of an MCP server, as its JSON key does.
type Gate string

// The gates, in the order in which they are shown.
const (
	Healthz   Gate = "healthz"   // g1: is the process alive?
	Test      Gate = "test"      // g2: can it do what it exists for?
	ListTools Gate = "listTools" // g3: does it speak the protocol and serve something?
)

// Gates returns the three gates in the order in which they are shown.
func Gates() []Gate { return []Gate{Healthz, Test, ListTools} }

// GateResult is what one gate found. Pass and Fail make one.
type GateResult struct {
	OK        bool    `json:"ok"`
	LatencyMs float64 `json:"latencyMs"` // milliseconds, to the microsecond
	Detail    string  `json:"detail,omitempty"`
	Cause     Cause   `json:"cause,omitempty"`

	// Began is when it was begun to be asked, and Ended when what it found was known;
	// zero where it was not asked, and in what was read from a document, which does not
	// hold them. Not all that is between them need count as its latency.
	Began      time.Time   `json:"-"`
	Ended      time.Time   `json:"-"`
	Transcript *Transcript `json:"transcript,omitempty"` // of a gate that failed, when transcripts are kept
}

// ToolsResult is what g3 found. ToolCount is the number of distinct tools that
// have a name.
type ToolsResult struct {
	GateResult

	ToolCount int `json:"toolCount"`
}

// Pass is a gate that held.
func Pass(latency time.Duration, detail string) GateResult {
	return GateResult{OK: true, LatencyMs: Milliseconds(latency), Detail: detail}
}

// Fail is a gate that did not hold, and why.
func Fail(latency time.Duration, cause Cause, detail string) GateResult {
	return GateResult{LatencyMs: Milliseconds(latency), Cause: cause, Detail: detail}
}

// Milliseconds is how durations are written in results: to the microsecond.
func Milliseconds(d time.Duration) float64 {
	return math.Round(float64(d)/float64(time.Microsecond)) / 1000
}
