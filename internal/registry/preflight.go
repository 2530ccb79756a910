package registry

import (
	"cmp"
	"slices"
	"strings"
)

// Probed is a result as a preflight judges it: fresh, or stored and young enough.
type Probed struct {
	ResultID string
	Summary  Summary
	Drift    *Drift // from the accepted tools; nil when there is none
	Trusted  bool   // its tools were accepted with it, since none had been
	Reused   bool   // it was stored before, and the slot's maximum age permits it
}

// Attempt is what a preflight found of one component of a slot.
type Attempt struct {
	Component string  `json:"component"`
	Passed    bool    `json:"passed"` // all that the slot demands
	Causes    []Cause `json:"causes"`
	Reason    string  `json:"reason,omitempty"` // untrusted text
	ResultID  string  `json:"result_id"`
	Degraded  bool    `json:"degraded,omitempty"`
	Reused    bool    `json:"reused,omitempty"`
	Trusted   bool    `json:"trusted_at_first_sight,omitempty"` // its tools were accepted now, since none had been

	Drifting Drifting `json:"drifting,omitempty"` // what becomes of tools that are not the accepted ones; empty while they are

	pins *pins // what a ticket keeps of it; only Judge sets them
}

// pins are what a ticket holds against the present.
type pins struct{ tools, image, content string }

// SlotResult is what a preflight found of one slot.
type SlotResult struct {
	Slot      string    `json:"slot"`
	Required  bool      `json:"required"`
	OK        bool      `json:"ok"`
	Component string    `json:"component,omitempty"` // that fills the slot
	Fallback  bool      `json:"fallback"`            // it is not the primary
	Attempts  []Attempt `json:"attempts"`            // in the order of the slot: primary first
}

// Preflight is the answer to whether a run may start. Allowed is computed by
// NewPreflight from the slots.
type Preflight struct {
	Run     string       `json:"run"`
	Allowed bool         `json:"allowed"`
	Slots   []SlotResult `json:"slots"`
	Ticket  *Ticket      `json:"ticket,omitempty"` // only when it is allowed
}

// Judge holds one component's result against what the slot demands. It judges
// the result and not the status: it passed, the tools are there, the server's
// version suffices, and its tools have not changed when that is set to block. An
// attempt that did not pass has a reason.
func (s *Slot) Judge(component *Component, probed Probed) Attempt {
	attempt := Attempt{
		Component: component.Name, Passed: probed.Summary.Outcome == OutcomePassed,
		Causes: append([]Cause{}, probed.Summary.Causes...), Reason: probed.Summary.Reason,
		ResultID: probed.ResultID, Degraded: probed.Summary.Degraded, Reused: probed.Reused, Trusted: probed.Trusted,
		pins: &pins{probed.Summary.ToolsDigest, probed.Summary.ImageDigest, probed.Summary.ContentVersion},
	}
	if !attempt.Passed {
		attempt.Reason = cmp.Or(attempt.Reason, "the result of its probe is: "+cmp.Or(string(probed.Summary.Outcome), "none"))
		return attempt
	}
	s.demand(&attempt, probed)
	if probed.Drift == nil {
		return attempt
	}
	said := because("its tools are not the accepted ones", probed.Drift.String())
	attempt.Drifting = component.drifting()
	if attempt.Drifting == DriftBlocks {
		attempt.refuse(ToolsChanged, said)
	} else {
		attempt.say(said)
	}
	return attempt
}

// drifting says what becomes of the component when its tools are not the accepted
// ones.
func (c *Component) drifting() Drifting {
	if spec, can := c.Spec.(driftBlocker); can && spec.BlocksDrift() {
		return DriftBlocks
	}
	return DriftWarns
}

// driftBlocker is a Spec whose tools may be such that a change of them blocks.
type driftBlocker interface{ BlocksDrift() bool }

// demand refuses a pass that is not what the slot demands.
func (s *Slot) demand(attempt *Attempt, probed Probed) {
	if probed.Reused && s.MaxAge == 0 {
		attempt.refuse("", "slot "+s.Name+" wants a probe now, and this result was stored before")
	}
	var missing []string
	for _, tool := range s.RequireTools {
		if !slices.Contains(probed.Summary.Tools, tool) {
			missing = append(missing, tool)
		}
	}
	if len(missing) > 0 {
		attempt.refuse(MissingTool, "it does not list what slot "+s.Name+" requires: "+strings.Join(missing, ", "))
	}
	if s.MinVersion == "" {
		return
	}
	if wrong := versionBelow(probed.Summary.ServerVersion, s.MinVersion); wrong != "" {
		attempt.refuse(OldVersion, wrong+" (slot "+s.Name+")")
	}
}

// refuse adds why the attempt has not passed.
func (a *Attempt) refuse(cause Cause, reason string) {
	a.Passed = false
	if cause != "" && !slices.Contains(a.Causes, cause) {
		a.Causes = append(a.Causes, cause)
	}
	a.say(reason)
}

// say adds to the reason.
func (a *Attempt) say(reason string) {
	if a.Reason != "" {
		reason = a.Reason + "; " + reason
	}
	a.Reason = Shorten(reason, MaxDetail)
}

// Fill chooses the first attempt that passed. The attempts are in the order of
// the slot.
func (s *Slot) Fill(required bool, attempts []Attempt) SlotResult {
	result := SlotResult{Slot: s.Name, Required: required, Attempts: append([]Attempt{}, attempts...)}
	for _, attempt := range attempts {
		if attempt.Passed {
			result.OK, result.Component, result.Fallback = true, attempt.Component, attempt.Component != s.Primary
			break
		}
	}
	return result
}

// NewPreflight says whether a run may start: every slot that the run or a result
// calls required is among the results, and filled.
func NewPreflight(run *Run, slots []SlotResult) Preflight {
	made := Preflight{Run: run.Name, Allowed: true, Slots: append([]SlotResult{}, slots...)}
	filled := map[string]bool{}
	for i := range slots {
		filled[slots[i].Slot] = slots[i].OK
		made.Allowed = made.Allowed && (slots[i].OK || !slots[i].Required)
	}
	for _, slot := range run.Slots {
		made.Allowed = made.Allowed && (filled[slot.Slot] || !slot.Required)
	}
	return made
}
