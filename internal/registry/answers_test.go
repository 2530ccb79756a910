package registry_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// TestAnswers_haveTheShapesOfTheContract holds the JSON of every answer against
// what clients rely on.
func TestAnswers_haveTheShapesOfTheContract(t *testing.T) {
	t.Parallel()
	preflight := allowed()
	preflight.Ticket = ticket(t)
	refused := registry.NewPreflight(&registry.Run{Name: "weekly"}, []registry.SlotResult{(&registry.Slot{Name: "recon"}).Fill(true, nil)})
	now := probed("r4")
	now.Summary.ToolsDigest, now.Drift = "sha256:cc", drift()
	slot := &registry.Slot{Name: "author", Primary: "writer"}
	held := preflight.Ticket
	report := registry.NewTicketReport(held, []registry.TicketCheck{
		held.Slots[0].Gone("asm-eu does not fill the slot any more"),
		held.Slots[1].Compare(slot.Judge(server("writer"), now)),
	})
	view := view(t)
	drifted := view.Reading
	drifted.Drifting = registry.DriftBlocks
	for name, answer := range map[string]any{
		"preflight":         preflight,
		"preflight-refused": refused,
		"ticket-report":     report,
		"ticket-foreign":    registry.TicketReport{Run: "nightly", Slots: []registry.TicketCheck{}, Reason: "the signature is not ours"},
		"component-view":    view,
		"component-page":    registry.ComponentPage{Components: []registry.Reading{drifted, unprobed()}, NextCursor: "asm"},
		"examination":       registry.Examination{Reading: view.Reading, Result: view.Result, Drift: drift(), Trusted: true},
		"acceptance": registry.Acceptance{
			Name: "asm", Was: "sha256:aa", Digest: "sha256:cc", Reason: "listTools: missing_tool: not listed: masscan",
			Drift: &registry.Drift{Abridged: true, Added: []string{"sweep"}, New: []registry.NewTool{{Name: "sweep", Texts: []registry.TextChange{
				{What: "description", After: new("Sweep a network."), LeftOut: 3},
			}}}, Changed: []registry.ToolChange{{Name: "scan", What: []string{"inputSchema"}, Texts: []registry.TextChange{
				{What: "inputSchema", At: "properties.rate", Before: new(`{"type":"integer"}`), After: new(`{"type":"string"}`), LeftOut: 7},
			}}}},
		},
	} {
		golden(t, name, answer)
	}
}

func unprobed() registry.Reading {
	return component(1, 1).Read(registry.Standing{RegisteredAt: began()}, began())
}

// view is a component with everything that can be told of one.
func view(t *testing.T) registry.ComponentView {
	t.Helper()
	c := component(1, 3)
	made, now := standing("pdf.", c.Policy())
	result := passing()
	result.Test = registry.Fail(time.Second, registry.Timeout, "the time ran out")
	document, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	_, changes := fold(registry.Known{}, brought("1", began(), registry.OutcomeFailed, "sha256:aa"))
	hour := registry.Hour{Component: "asm", Start: began(), Passed: 3, Failed: 2, Undecided: 1}
	hour.LatencyMs.Sum, hour.LatencyMs.Max = 42.5, 12.25
	return registry.ComponentView{
		Reading: c.Read(made, now), Slots: []string{"recon"}, Result: document,
		AcceptedDigest: "sha256:aa", AcceptedAt: "2026-11-30T12:00:00.000Z", Drift: drift(),
		Changes: changes, Hours: []registry.Hour{hour},
	}
}
