package schema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/schema"
	"github.com/countersign-dev/countersign/internal/task"
)

// answers are the schemas, each with those that it refers to.
func answers(t *testing.T) func(name string) *jsonschema.Resolved {
	t.Helper()
	made, err := schema.NewAnswers("#/$defs/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range made.All {
		if one.AdditionalProperties != nil {
			t.Errorf("%s may never gain a member", name)
		}
		if one.Properties != nil {
			one.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}} // it may gain members, and has none that is undescribed
		}
	}
	return func(name string) *jsonschema.Resolved {
		t.Helper()
		resolved, err := (&jsonschema.Schema{Ref: "#/$defs/" + name, Defs: made.All}).Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return resolved
	}
}

func TestAnswers_areWhatMarshals(t *testing.T) {
	of := answers(t)
	now, from, text := task.At(time.Now()), task.Pending, "was"
	for name, value := range map[string]any{
		"TaskPage": task.Page{Tasks: []task.Summary{{TaskID: "0197b3b0-0000-7000-8000-000000000000", Status: task.Claimed, ClaimedBy: "a"}}},
		"Task": task.Task{
			Status: task.Verified, AcceptanceCriteria: []string{"c"}, ClaimedAt: &now, Verdict: task.Verified,
			History: []task.Change{{Kind: task.KindCreated, To: task.Pending}, {Kind: task.KindClaimed, From: &from, To: task.Claimed}},
		},
		"Agent":       task.AgentView{AgentTally: task.AgentTally{Marks: task.Marks()}, Verifies: []task.PairTally{{}}, VerifiedBy: []task.PairTally{}, RolledUpAt: &now},
		"Component":   registry.ComponentView{Reading: reading(), Drift: &registry.Drift{New: []registry.NewTool{{Texts: []registry.TextChange{{After: &text}}}}, Changed: []registry.ToolChange{{What: []string{"description"}, Texts: []registry.TextChange{{Before: &text}}}}}},
		"Examination": registry.Examination{Reading: reading(), Result: json.RawMessage(`{"passed":true}`)},
		"Run":         registry.RunView{Slots: []registry.RunSlotView{{SlotView: registry.SlotView{Fallbacks: []string{}, Components: []registry.Reading{reading()}}}}, Preflights: []registry.KeptPreflight{}},
		"RunPage":     registry.RunPage{Runs: []registry.RunSummary{{Slots: []string{}}}},
	} {
		if err := of(name).Validate(decoded(t, value)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnswers_refuseWhatNeverIs(t *testing.T) {
	of := answers(t)
	sound := task.Summary{TaskID: "0197b3b0-0000-7000-8000-000000000000", Status: task.Pending}
	for change, apply := range map[string]func(map[string]any){
		"a status that is none":  func(o map[string]any) { o["status"] = "done" },
		"a member that is none":  func(o map[string]any) { o["assignee"] = "me" },
		"a member that is left":  func(o map[string]any) { delete(o, "title") },
		"null for what is left":  func(o map[string]any) { o["claimed_by"] = nil },
		"null for what is there": func(o map[string]any) { o["title"] = nil },
		"another type":           func(o map[string]any) { o["criteria_count"] = "1" },
	} {
		object, is := decoded(t, sound).(map[string]any)
		if !is || of("TaskSummary").Validate(object) != nil {
			t.Fatal("the sound one is refused")
		}
		if apply(object); of("TaskSummary").Validate(object) == nil {
			t.Errorf("%s is taken", change)
		}
	}
	page, is := decoded(t, task.Page{Tasks: []task.Summary{}}).(map[string]any)
	if !is || of("TaskPage").Validate(page) != nil {
		t.Fatal("the empty page is refused")
	}
	if page["tasks"] = nil; of("TaskPage").Validate(page) == nil {
		t.Error("null is taken for a list")
	}
	unprobed, is := decoded(t, reading()).(map[string]any)
	if !is || unprobed["age_ms"] != nil || of("ComponentReading").Validate(unprobed) != nil {
		t.Errorf("a component that was not probed is refused: %v", unprobed)
	}
}

func TestAnswers_needEveryTypeToBeAnObject(t *testing.T) {
	if _, err := schema.NewAnswers("#/", map[string]reflect.Type{"Channel": reflect.TypeFor[chan int]()}); err == nil || !strings.Contains(err.Error(), "Channel") {
		t.Errorf("NewAnswers = %v", err)
	}
}

func reading() registry.Reading {
	return registry.Reading{Name: "docs", Kind: registry.KindMCPServer, Status: registry.Probing, Causes: []registry.Cause{registry.NotOK}}
}

func decoded(t *testing.T, value any) any {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
