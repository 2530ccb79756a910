package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestPreflight_namesTheRunsToWhoeverNamesNone(t *testing.T) {
	var runs []string
	var failure error
	operations := newFleet()
	operations.runs = func() ([]string, error) { return runs, failure }
	c := connect(t, NewRegistry(operations, logging(t, Options{})))
	c.initialize()
	many := make([]string, maxNamedRuns+3)
	for i := range many {
		many[i] = fmt.Sprintf("run-%d", i)
	}
	for name, row := range map[string]struct {
		runs    []string
		failure error
		want    string
	}{
		"two":     {[]string{"nightly", "weekly"}, nil, "The runs are nightly, weekly."},
		"many":    {many, nil, many[maxNamedRuns-1] + " and 3 more."},
		"none":    {nil, nil, "The operator has configured no run."},
		"unknown": {nil, errors.New("the database is opening"), "Ask the operator for the name of the run."},
	} {
		runs, failure = row.runs, row.failure
		said := faultOf(t, c.ask(callOf(1, "preflight", `{}`)))
		if hint, _ := said["hint"].(string); !strings.HasSuffix(hint, row.want) || said["code"] != "E_INVALID_ARGUMENT" || said["field"] != "run" {
			t.Errorf("%s: got %v", name, said)
		}
	}
}

// TestGetComponent_answersWithinItsBoundsWhateverHasChanged has as many texts as
// a drift may have, of characters that are long in JSON.
func TestGetComponent_answersWithinItsBoundsWhateverHasChanged(t *testing.T) {
	t.Parallel()
	view := newFleet().views["asm"]
	view.Drift = &registry.Drift{}
	for i := range registry.MaxDriftTexts {
		view.Drift.Changed = append(view.Drift.Changed, registry.ToolChange{
			Name: fmt.Sprintf("tool-%d", i), What: []string{"description"}, Texts: []registry.TextChange{
				{What: "description", Before: new(strings.Repeat("<", registry.MaxDriftText)), After: new(strings.Repeat("\x01", registry.MaxDriftText))},
			},
		})
	}
	fitted, err := fitView(view)
	if err != nil || sizeOf(fitted) > maxResultBytes {
		t.Fatalf("%d bytes, %v", sizeOf(fitted), err)
	}
	var read struct {
		Drift     registry.Drift
		Truncated []string
	}
	if err := json.Unmarshal(encode(fitted), &read); err != nil || len(read.Drift.Changed) == 0 || len(read.Truncated) == 0 {
		t.Errorf("%d changes are left, %v was cut (%v)", len(read.Drift.Changed), read.Truncated, err)
	}
}
