package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

// day is when the tests of the registry begin: a full hour.
func day() time.Time { return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC) }

// policy is that of every component of the tests.
func policy() registry.Policy {
	return registry.Policy{Rise: 1, Fall: 2, Interval: time.Minute, TTL: 3 * time.Minute, ProbingDeadline: 3 * time.Minute}
}

// tools returns a list of tools whose descriptions are the text.
func tools(text string) []registry.Tool {
	description, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return []registry.Tool{{Name: "nmap_scan", Description: description, InputSchema: json.RawMessage(`{"type":"object"}`)}}
}

// found is the result of a probe at a moment: a pass of a server with the tools,
// or a failure for a cause.
func found(at time.Time, cause registry.Cause, list []registry.Tool) *registry.ProbeResult {
	result := &registry.ProbeResult{
		Target: "http://127.0.0.1:8080", Profile: registry.ThreeGates, ProbedAt: at,
		Healthz: registry.Pass(time.Millisecond, ""), Test: registry.Pass(2*time.Millisecond, ""),
	}
	if cause != "" {
		result.ListTools.GateResult = registry.Fail(3*time.Millisecond, cause, "it \x00 says \xff no")
		return result
	}
	digest, err := registry.ToolsDigest(list)
	if err != nil {
		panic(err)
	}
	result.ListTools = registry.ToolsResult{GateResult: registry.Pass(3*time.Millisecond, ""), ToolCount: len(list)}
	result.ToolList, result.ToolsDigest, result.Tools = list, digest, []string{"nmap_scan"}
	return result
}

// recordOf is the record of a result of a component.
func recordOf(component string, result *registry.ProbeResult) registry.Record {
	document, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	return registry.Record{
		ID: idAt(result.ProbedAt), Registration: registrationOf(component), Policy: policy(),
		Summary: result.Summary(), Document: document, ToolList: result.ToolList,
	}
}

func registrationOf(component string) registry.Registration {
	return registry.Registration{Name: component, Kind: registry.KindMCPServer, Definition: "sha256:a"}
}

// idAt is an id that was made at a moment.
func idAt(at time.Time) string {
	id := uuid.Must(uuid.NewV7())
	for i, ms := 5, at.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	return id.String()
}

// pass and fail record one result of a component at a moment and return its id.
func pass(t testing.TB, db *store.Database, component string, at time.Time) string {
	t.Helper()
	return mustRecord(t, db, recordOf(component, found(at, "", tools("first"))))
}

func fail(t testing.TB, db *store.Database, component string, at time.Time) string {
	t.Helper()
	return mustRecord(t, db, recordOf(component, found(at, registry.ZeroTools, nil)))
}

func mustRecord(t testing.TB, db *store.Database, records ...registry.Record) string {
	t.Helper()
	if err := db.Record(t.Context(), nil, records); err != nil {
		t.Fatalf("record %d results: %v", len(records), err)
	}
	return records[len(records)-1].ID
}

// mustKnow returns what is known of a component.
func mustKnow(t testing.TB, db *store.Database, component string) registry.Known {
	t.Helper()
	known, err := db.Known(t.Context(), []string{component})
	if err != nil || len(known) != 1 {
		t.Fatalf("known of %s: %v, %v", component, known, err)
	}
	return known[0]
}

// mustResult returns a result that is kept.
func mustResult(t testing.TB, db *store.Database, id string) registry.Kept {
	t.Helper()
	kept, err := db.Result(t.Context(), id)
	if err != nil {
		t.Fatalf("read result %s: %v", id, err)
	}
	return kept
}

// isKept reports whether a result is kept.
func isKept(t testing.TB, db *store.Database, id string) bool {
	t.Helper()
	_, err := db.Result(t.Context(), id)
	if err != nil && !errors.Is(err, fault.NotFound) {
		t.Fatalf("read result %s: %v", id, err)
	}
	return err == nil
}

// nameOf is the name of the component of a number.
func nameOf(number int) string { return fmt.Sprintf("component-%05d", number) }
