//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
)

// gate is one gate of a probe result.
type gate struct {
	OK        bool   `json:"ok"`
	Cause     string `json:"cause"`
	ToolCount int    `json:"toolCount"`
}

func (g gate) String() string {
	switch {
	case !g.OK:
		return fmt.Sprintf("no (%s)", g.Cause)
	case g.ToolCount > 0:
		return fmt.Sprintf("yes (%d tools)", g.ToolCount)
	}
	return "yes"
}

// probeResult is what does not change from run to run.
type probeResult struct {
	Target          string `json:"target"`
	Healthz         gate   `json:"healthz"`
	Test            gate   `json:"test"`
	ListTools       gate   `json:"listTools"`
	Passed          bool   `json:"passed"`
	Era             string `json:"era"`
	Transport       string `json:"transport"`
	ProtocolVersion string `json:"protocolVersion"`
	Opened          int    `json:"sessionsOpened"`
	Closed          int    `json:"sessionsClosed"`
}

func decodeProbe(t *testing.T, text string) probeResult {
	t.Helper()
	var result probeResult
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		t.Fatalf("this is no probe result: %v\n%s", err, text)
	}
	return result
}

// row is the result as the golden table has it.
func (r probeResult) row(code int) string {
	spoken := "–"
	if r.Era != "" {
		spoken = fmt.Sprintf("%s %s, %s", r.Era, r.ProtocolVersion, r.Transport)
	}
	return fmt.Sprintf("%v | %v | %v | %s | %d, %d | %d", r.Healthz, r.Test, r.ListTools, spoken, r.Opened, r.Closed, code)
}

// verdict is a probe result in one line.
func verdict(t *testing.T, probed outcome) string {
	t.Helper()
	result := decodeProbe(t, probed.stdout)
	if result.Passed != (probed.code == 0) {
		t.Errorf("passed is %v and the exit code %d", result.Passed, probed.code)
	}
	line := fmt.Sprintf("healthz %v, test %v, listTools %v", result.Healthz, result.Test, result.ListTools)
	if result.ListTools.OK {
		line += fmt.Sprintf(", %s %s, sessions %d opened %d closed", result.Era, result.ProtocolVersion, result.Opened, result.Closed)
	}
	return fmt.Sprintf("%s, exit %d", line, probed.code)
}
