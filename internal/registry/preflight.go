package registry

// Probed is a result as a preflight judges it: fresh, or stored and young enough.
type Probed struct {
	ResultID string
	Summary  Summary
	Drift    *Drift // from the accepted tools; nil when there is none
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

	pins pins // what a ticket keeps of it
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
// version suffices, and its tools have not changed when that is set to block.
func (s *Slot) Judge(component *Component, probed Probed) Attempt {
	attempt := Attempt{
		Component: component.Name, Causes: probed.Summary.Causes, Reason: probed.Summary.Reason,
		ResultID: probed.ResultID, Degraded: probed.Summary.Degraded, Reused: probed.Reused,
		pins: pins{probed.Summary.ToolsDigest, probed.Summary.ImageDigest, probed.Summary.ContentVersion},
	}
	// The demands of the slot follow here.
	attempt.Passed = probed.Summary.Outcome == OutcomePassed
	return attempt
}

// Fill chooses the first attempt that passed. The attempts are in the order of
// the slot.
func (s *Slot) Fill(required bool, attempts []Attempt) SlotResult {
	result := SlotResult{Slot: s.Name, Required: required, Attempts: attempts}
	for _, attempt := range attempts {
		if attempt.Passed {
			result.OK, result.Component, result.Fallback = true, attempt.Component, attempt.Component != s.Primary
			break
		}
	}
	return result
}

// NewPreflight says whether a run may start: every required slot is filled.
func NewPreflight(run *Run, slots []SlotResult) Preflight {
	made := Preflight{Run: run.Name, Allowed: true, Slots: slots}
	for _, slot := range slots {
		made.Allowed = made.Allowed && (slot.OK || !slot.Required)
	}
	return made
}
