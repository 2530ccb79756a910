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
		},
		Runs: []registry.Run{
			{Name: "hourly", Slots: []registry.RunSlot{{Slot: "empty"}, {Slot: "optional"}}},
			{Name: "nightly", Slots: []registry.RunSlot{required("empty"), {Slot: "served"}, required("fine")}},
			{Name: "weekly", Slots: []registry.RunSlot{required("empty"), required("served")}},
		},
	}
	got := registered.Wants(func(name string) bool { return name == "well" })
	want := map[string]registry.Wanted{
		"dead":  {Need: registry.NeedRefuses, Slot: "empty", Run: "nightly"},
		"gone":  {Need: registry.NeedRefuses, Slot: "empty", Run: "nightly"},
		"late":  {Need: registry.NeedFallback, Slot: "served", Run: "nightly"},
		"worse": {Need: registry.NeedSlot, Slot: "served"},
		"idle":  {Need: registry.NeedSlot, Slot: "optional"},
		"spare": {Need: registry.NeedSlot, Slot: "unused"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs want (-want +got):\n%s", diff)
	}
}
