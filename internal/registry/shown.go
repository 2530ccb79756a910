package registry

import (
	"encoding/json"
	"time"
)

// RecentResult is what a page shows of one of the latest results of a component.
type RecentResult struct {
	Outcome Outcome
	Latency time.Duration
	Proof   json.RawMessage // what it passed or failed by, as in Summary
}

// ResultQuery selects results of one component, the newest first.
type ResultQuery struct {
	Limit  int    // 1 to MaxPage; 0 for DefaultPage
	Cursor string // NextCursor of the page before
}

// KeptResult is a result as it is told.
type KeptResult struct {
	ResultID  string          `json:"result_id"`
	Component string          `json:"component"`
	Kind      Kind            `json:"kind"`
	ProbedAt  string          `json:"probed_at"` // RFC 3339 in UTC
	Outcome   Outcome         `json:"outcome"`
	Degraded  bool            `json:"degraded"`
	Causes    []Cause         `json:"causes"`
	Reason    string          `json:"reason,omitempty"` // untrusted text
	LatencyMs float64         `json:"latency_ms"`
	Result    json.RawMessage `json:"result,omitempty"` // whole; absent in a list, and where it was given up
}

// ResultPage is one page of results.
type ResultPage struct {
	Results    []KeptResult `json:"results"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// SlotView is a slot as it is told.
type SlotView struct {
	Slot         string    `json:"slot"`
	Primary      string    `json:"primary"`
	Fallbacks    []string  `json:"fallbacks"`
	RequireTools []string  `json:"require_tools,omitempty"`
	MinVersion   string    `json:"min_version,omitempty"`
	MaxAgeMs     int64     `json:"max_age_ms,omitempty"` // 0: a preflight always probes
	Components   []Reading `json:"components"`           // the primary and the fallbacks, in order, as they are now
	// Fills is the component that would fill the slot, going by the statuses; empty
	// when none would. A preflight does not go by them: it probes, and judges.
	Fills string `json:"fills,omitempty"`
}

// RunSlotView is a slot of a run as it is told.
type RunSlotView struct {
	SlotView

	Required bool `json:"required"`
}

// RunView is a run as it is told. Preflights are the newest first.
type RunView struct {
	Run string `json:"run"`
	// Unregistered says that the configuration does not name it: it has no slots, and
	// its preflights are what was kept.
	Unregistered bool `json:"unregistered,omitempty"`

	Slots      []RunSlotView   `json:"slots"`
	Preflights []KeptPreflight `json:"preflights"`
}

// RunSummary is a run in a list.
type RunSummary struct {
	Run   string   `json:"run"`
	Slots []string `json:"slots"`
	// Last is the newest preflight; nil when there was none.
	Last *PreflightSummary `json:"last_preflight,omitempty"`
}

// PreflightSummary is what a list tells of a preflight.
type PreflightSummary struct {
	At        time.Time `json:"at"`
	Allowed   bool      `json:"allowed"`
	Fallbacks []string  `json:"fallbacks"` // slots that are not filled by their primary
	Unfilled  []string  `json:"unfilled"`  // slots that nothing fills
}

// RunPage is one page of runs, in the order of their names.
type RunPage struct {
	Runs       []RunSummary `json:"runs"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// SlotPage is one page of slots, in the order of their names.
type SlotPage struct {
	Slots      []SlotView `json:"slots"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

// PreflightPage is one page of the preflights of a run, the newest first.
type PreflightPage struct {
	Preflights []KeptPreflight `json:"preflights"`
	NextCursor string          `json:"next_cursor,omitempty"`
}

// PageQuery selects a page of a list that only goes on.
type PageQuery struct {
	Limit  int    // 1 to MaxPage; 0 for DefaultPage
	Cursor string // NextCursor of the page before
}

// StatusCounts is how many components have each status, and how many of them
// need attention whatever their status.
type StatusCounts struct {
	Probing     int `json:"probing"`
	Available   int `json:"available"`
	Unavailable int `json:"unavailable"`
	Unknown     int `json:"unknown"`
	Attention   int `json:"attention"`
}

// Attention is what a person should look at first: the most pressing first, those that
// press alike by what runs want of them.
type Attention struct {
	Components []Reading    `json:"components"` // bounded
	Counts     StatusCounts `json:"counts"`
	// Wants is what runs want of those among Components that are not healthy, by name.
	Wants map[string]Wanted `json:"-"`
}
