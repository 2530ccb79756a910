//go:build unix

package probe

import (
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// TestExamine_watchesByTheTimeOutInForce has the clocks step between the beginning and
// the end of each probe, by what one time-out excuses and another does not.
func TestExamine_watchesByTheTimeOutInForce(t *testing.T) {
	t.Parallel()
	const ofSecond, ofQuick, ofSlow = 1600 * time.Millisecond, 3500 * time.Millisecond, 10 * time.Second
	url := newBreaking(t, newLiveClocks(), 0)
	var rows []watchedRow
	for _, spec := range specsAt(url) {
		byDefault := ofQuick
		if spec.Kind() == registry.KindModel || spec.Kind() == registry.KindHarness {
			byDefault = ofSlow
		}
		rows = append(rows, watchedRow{spec, 0, 0, byDefault}, watchedRow{spec, time.Second, 0, ofSecond},
			watchedRow{spec, 30 * time.Second, 0, ofSlow}, watchedRow{spec, time.Second, 30 * time.Second, ofSlow})
	}
	for _, spec := range startedSpecs(t) {
		rows = append(rows, watchedRow{spec, 0, 0, ofSlow})
	}
	for _, row := range rows {
		for _, stall := range []time.Duration{ofSecond, ofQuick, ofSlow} {
			clocks := newLiveClocks()
			first := true
			settings := Settings{Timeout: row.asked, Version: "test", Now: time.Now, clocks: func() reading {
				defer func() {
					if first {
						first = false
						clocks.step(stall, stall)
					}
				}()
				return clocks.read()
			}}
			component := &registry.Component{Name: "asm", Spec: row.spec, Timeout: row.own}
			summary := Examine(t.Context(), component, settings).Summary()
			if excused := summary.Outcome == registry.OutcomeUndecided; excused != (stall >= row.excuses) {
				t.Errorf("a %s with a time-out of %v and of %v for this probe is %s after a stall of %v: %s",
					row.spec.Kind(), row.own, row.asked, summary.Outcome, stall, summary.Reason)
			}
		}
	}
}

// watchedRow is a component, its own time-out and that of one probe, and the shortest
// stall of three that excuses.
type watchedRow struct {
	spec                registry.Spec
	own, asked, excuses time.Duration
}

// startedSpecs are the kinds that can be a process: here one that ends its output and
// runs on, until it is ended.
func startedSpecs(t *testing.T) []registry.Spec {
	t.Helper()
	server := registry.MCPServer{Command: []string{"sh", "-c", "exec >&-; cat >/dev/null"}, Profile: registry.Protocol}
	return []registry.Spec{&server, &registry.KnowledgeBase{MCPServer: server, Retrieve: registry.Retrieval{Tool: "search"}}}
}
