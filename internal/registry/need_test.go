package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestWants_saysWhatMakesARunRefuseOrStartOnAFallback(t *testing.T) {
	required := func(slot string) registry.RunSlot { return registry.RunSlot{Slot: slot, Required: true} }
	registered := registry.Registered{
		Slots: []registry.Slot{
			{Name: "empty", Primary: "dead", Fallbacks: []string{"gone"}},
			{Name: "served", Primary: "late", Fallbacks: []string{"well", "worse"}},
			{Name: "optional", Primary: "idle"},
			{Name: "unused", Primary: "spare"},
			{Name: "fine", Primary: "well", Fallbacks: []string{"dead"}},
			{Name: "both", Primary: "late", Fallbacks: []string{"worse"}},
			{Name: "hoped", Primary: "broken", Fallbacks: []string{"silent"}},
			{Name: "begun", Primary: "new", Fallbacks: []string{"well"}},
		},
		Runs: []registry.Run{
			{Name: "hourly", Slots: []registry.RunSlot{{Slot: "empty"}, {Slot: "optional"}}},
			{Name: "nightly", Slots: []registry.RunSlot{required("empty"), {Slot: "served"}, required("fine")}},
			{Name: "weekly", Slots: []registry.RunSlot{required("empty"), required("served"), required("hoped"), required("begun")}},
		},
	}
	fits := map[string]registry.Fit{"well": registry.Fits, "silent": registry.FitUnsure, "new": registry.FitUnsure}
	names := []string{"broken", "dead", "gone", "idle", "late", "new", "silent", "spare", "well", "worse"}
	got := map[string]registry.Wanted{}
	for place, wanted := range registered.Demand(names).Wants(func(place int) registry.Fit { return fits[names[place]] }) {
		if wanted.Need != registry.NeedNone {
			got[names[place]] = wanted
		}
	}
	want := map[string]registry.Wanted{
		"dead":   {Need: registry.NeedRefuses, Run: "nightly"},
		"gone":   {Need: registry.NeedRefuses, Run: "nightly"},
		"late":   {Need: registry.NeedFallback, Run: "nightly"},
		"worse":  {Need: registry.NeedSlot},
		"idle":   {Need: registry.NeedSlot},
		"spare":  {Need: registry.NeedSlot},
		"broken": {Need: registry.NeedFallback, Run: "weekly"},
		"silent": {Need: registry.NeedSlot},
		"new":    {Need: registry.NeedSlot},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs want (-want +got):\n%s", diff)
	}
}

func TestReading_fitsByItsStatus(t *testing.T) {
	for _, each := range []struct {
		reading registry.Reading
		want    registry.Fit
	}{
		{registry.Reading{Status: registry.Available}, registry.Fits},
		{registry.Reading{Status: registry.Available, Drifting: registry.DriftWarns, Degraded: true}, registry.Fits},
		{registry.Reading{Status: registry.Available, Drifting: registry.DriftBlocks}, registry.FitsNot},
		{registry.Reading{Status: registry.Unavailable}, registry.FitsNot},
		{registry.Reading{Status: registry.Unknown}, registry.FitUnsure},
		{registry.Reading{Status: registry.Unknown, Drifting: registry.DriftBlocks}, registry.FitsNot},
		{registry.Reading{Status: registry.Probing}, registry.FitUnsure},
	} {
		if got := each.reading.Fit(); got != each.want {
			t.Errorf("%s %s: fit is %d, want %d", each.reading.Status, each.reading.Drifting, got, each.want)
		}
	}
}
