package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

// resultsShown bounds the results of a component on its page.
const resultsShown = 10

// componentView is the page of one component.
type componentView struct {
	componentRow

	Unregistered bool // the configuration of this server names it no more

	Outcome  string // of the probe that was just asked for; empty when none was
	Target   string // what its probes reach; empty when nothing says it
	Schedule string // when it is probed, in words; empty for one that is not registered
	Result   *resultView
	Older    bool // the result that is shown is not the newest
	Former   bool // it is of an earlier definition
	Strip    strip
	Results  []resultRow
	Pager    pager
	Drift    *driftView
	Accepted acceptedTools
	Changes  []changeRow
	Uses     []slotUse
	MoreUses int // that are not shown
}

// acceptedTools are those that a preflight holds the tools against.
type acceptedTools struct {
	Digest string // empty when none were accepted
	At     moment
}

// resultRow is a result in the list.
type resultRow struct {
	registry.KeptResult

	At     moment
	Took   string
	Causes []string // in sentences
	Here   bool     // it is the one that is shown
	// Former says that it, and what comes below it, is of an earlier definition than
	// what stands above it.
	Former bool
}

// changeRow is a change of status.
type changeRow struct {
	registry.Change

	When   moment
	Causes []string // in sentences
}

// slotUse is a slot that the component may fill.
type slotUse struct {
	Slot string
	Role string // primary, or fallback
	Runs []slotRun
	More int // runs that are not shown
}

// slotRun is a run that has a slot.
type slotRun struct {
	Run      string
	Required bool
}

// showComponent shows one component.
func (s *site) showComponent(r *http.Request) (frame, error) {
	ctx, name, asked := r.Context(), r.PathValue("name"), r.URL.Query()
	told, err := s.Fleet.Component(ctx, name)
	if err != nil {
		return frame{}, fmt.Errorf("read the component: %w", err)
	}
	defined := definitionsOf(&told)
	view := componentView{
		componentRow: s.row(told.Reading, nil), Unregistered: told.Unregistered, Schedule: s.schedule(name), Strip: s.strip(told.Hours, defined),
		Target:   s.Fleet.Registered().Component(name).Target(),
		Accepted: acceptedTools{told.AcceptedDigest, s.parsed(told.AcceptedAt)}, Drift: driftOf(told.Drift),
	}
	view.Uses, view.MoreUses = usesOf(s.Fleet.Registered(), &told)
	for i := range told.Changes {
		change := told.Changes[i]
		view.Changes = append(view.Changes, changeRow{change, s.at(change.At), sentencesOf(change.Causes)})
	}
	shown, err := s.resultShown(ctx, &told, asked.Get(paramResult))
	if err != nil {
		return frame{}, err
	}
	if shown != nil {
		view.Result = s.resultOf(ctx, shown)
		view.Older = told.ResultID == nil || shown.ResultID != *told.ResultID
		view.Former = defined.since(view.Result.At) > 0
	}
	if err := s.addResults(r, &view, defined); err != nil {
		return frame{}, err
	}
	view.Outcome = s.outcome(ctx, name, asked.Get(paramProbed))
	return frame{Title: name, Topics: []string{topicComponents + ":" + name}, Content: view}, nil
}

// resultShown is the newest result, or the one that is asked for; nil when there is
// none. Faults: NotFound, Unavailable.
func (s *site) resultShown(ctx context.Context, told *registry.ComponentView, asked string) (*registry.KeptResult, error) {
	switch {
	case asked != "":
		kept, err := s.Fleet.Result(ctx, asked)
		if err == nil && kept.Component != told.Name {
			err = fault.New(fault.NotFound, "this result is none of component %q", told.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("read the result: %w", err)
		}
		return &kept, nil
	case told.ResultID == nil:
		return nil, nil
	}
	kept := registry.KeptResult{ResultID: *told.ResultID, Component: told.Name, Kind: told.Kind, Causes: told.Causes, Reason: told.Reason, Result: told.Result}
	return &kept, nil
}

// addResults adds one page of the results. Faults: InvalidArgument, Unavailable.
func (s *site) addResults(r *http.Request, view *componentView, defined definitions) error {
	page, err := s.Fleet.Results(r.Context(), view.Name, registry.ResultQuery{Limit: resultsShown, Cursor: r.URL.Query().Get(paramCursor)})
	if err != nil {
		return fmt.Errorf("list the results: %w", err)
	}
	view.Pager = pagerOf(r, page.NextCursor).at("history")
	passed := 0 // definitions that began above
	for _, kept := range page.Results {
		at := s.parsed(kept.ProbedAt)
		isFormer := defined.since(at) > passed
		passed = max(passed, defined.since(at))
		view.Results = append(view.Results, resultRow{
			KeptResult: kept, At: at, Former: isFormer, Causes: sentencesOf(kept.Causes),
			Took: words.Took(time.Duration(kept.LatencyMs * float64(time.Millisecond))),
			Here: view.Result != nil && view.Result.ID == kept.ResultID,
		})
	}
	return nil
}

// outcome tells what became of a probe by its result; empty when there is none such.
func (s *site) outcome(ctx context.Context, name, id string) string {
	if id == "" {
		return ""
	}
	kept, err := s.Fleet.Result(ctx, id)
	if err != nil || kept.Component != name {
		return ""
	}
	said := fmt.Sprintf("Probed: %s in %s.", kept.Outcome, words.Took(time.Duration(kept.LatencyMs*float64(time.Millisecond))))
	return strings.Join(append([]string{said}, sentencesOf(kept.Causes)...), " ")
}

// schedule says when a component is probed.
func (s *site) schedule(name string) string {
	component := s.Fleet.Registered().Component(name)
	if component == nil {
		return ""
	}
	policy := component.Policy()
	exactly := func(d time.Duration) string { return unbroken(strings.Replace(words.Finely(d), ".0 s", " s", 1)) }
	said := fmt.Sprintf("probed every %s; a result counts for %s", exactly(policy.Interval), exactly(policy.TTL))
	if policy.Rise > 1 {
		said += fmt.Sprintf("; %d passes in a row make it available", policy.Rise)
	}
	if policy.Fall > 1 {
		said += fmt.Sprintf("; %d failures in a row make it unavailable", policy.Fall)
	}
	return said
}

// usesOf are the slots that a component may fill, with the runs that have them, and
// how many slots are left out.
func usesOf(registered *registry.Registered, told *registry.ComponentView) (uses []slotUse, more int) {
	uses = make([]slotUse, min(len(told.Slots), usesShown))
	places := make(map[string]int, len(uses))
	for i := range uses {
		uses[i] = slotUse{Slot: told.Slots[i], Role: "fallback"}
		if slot := registered.Slot(told.Slots[i]); slot != nil && slot.Primary == told.Name {
			uses[i].Role = "primary"
		}
		places[told.Slots[i]] = i
	}
	for _, run := range registered.Runs {
		for _, each := range run.Slots {
			place, shown := places[each.Slot]
			switch {
			case !shown:
			case len(uses[place].Runs) < runsShown:
				uses[place].Runs = append(uses[place].Runs, slotRun{run.Name, each.Required})
			default:
				uses[place].More++
			}
		}
	}
	return uses, len(told.Slots) - len(uses)
}

// resultOf reads a result for the page. One that cannot be read is told, and logged.
func (s *site) resultOf(ctx context.Context, kept *registry.KeptResult) *resultView {
	view := &resultView{ID: kept.ResultID, At: s.parsed(kept.ProbedAt)}
	if len(kept.Result) == 0 {
		view.GivenUp = true
		view.Outcome = kept.Outcome
		return view
	}
	result, err := registry.DecodeResult(kept.Kind, kept.Result)
	if err != nil {
		s.Log.WarnContext(ctx, "a result cannot be read", slog.String("result", kept.ResultID), slog.Any("cause", err))
		view.Unreadable = true
		return view
	}
	view.fill(s, kept.Component, result)
	return view
}
