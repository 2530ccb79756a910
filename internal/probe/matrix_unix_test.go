//go:build unix

package probe_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

// elsewhere are the causes that no misbehaving server of this package brings
// about: the first needs an accepted list of tools to compare with, the second
// is told by the network rules before any server is asked, the last is a defect
// of our own.
func elsewhere() []registry.Cause {
	return []registry.Cause{registry.ToolsChanged, registry.Denied, registry.Overloaded, registry.OldVersion}
}

// TestMatrix_hasARowForEachCauseAndManyForNone holds the tables of misbehaving
// servers against the closed list of the gates. That what is found is what is expected, cell
// by cell, is what the tests of each table show.
func TestMatrix_hasARowForEachCauseAndManyForNone(t *testing.T) {
	t.Parallel()
	behaviours := 0
	rows := map[registry.Cause]int{}
	count := func(causes ...registry.Cause) {
		behaviours++
		for _, cause := range causes {
			rows[cause]++
		}
	}
	for _, row := range pages() {
		count(row.healthz, row.test)
	}
	for _, table := range []map[string]wire{handshakes(), lists()} {
		for _, row := range table {
			count(row.cause)
		}
	}
	for _, row := range unreachables(t) {
		count(row.cause)
	}
	for _, row := range eventStreams() {
		count(row.list)
	}
	for _, row := range processes() {
		count(row.alive, row.test, row.list)
	}
	for _, row := range canaries() {
		count(row.cause)
	}
	count(registry.Identity)     // TestIdentity_isThatOfTheServerItself
	count(registry.MissingTool)  // TestProbe_asksForRequiredTools
	count(registry.ProcessStart) // TestProcesses_thatCannotBeStartedFailAllGates
	for _, entry := range registry.GateCauses() {
		if has := rows[entry.Cause] > 0; has == slices.Contains(elsewhere(), entry.Cause) {
			t.Errorf("the cause %s has %d rows", entry.Cause, rows[entry.Cause])
		}
	}
	t.Logf("%d behaviours: %v", behaviours, rows)
	if behaviours < 150 || rows[""] < 40 {
		t.Errorf("%d behaviours, of which %d are to be forgiven; there were more", behaviours, rows[""])
	}
	for _, cause := range slices.Sorted(maps.Keys(rows)) {
		if _, known := cause.Entry(); cause != "" && !known {
			t.Errorf("the cause %q is not in the closed list", cause)
		}
	}
}
