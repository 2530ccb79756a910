package examiner_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/cursor"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

func afterComponent(name string) string { return cursor.Components.After("", []byte(name)) }

func TestComponents_pagesAndFilters(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	n.fallback.dead.Store(true)
	n.preflight(t, "nightly")
	n.store.asked = nil
	list := func(query registry.ComponentQuery) (names []string, next string) {
		t.Helper()
		page, err := n.Components(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, each := range page.Components {
			names = append(names, each.Name+" "+string(each.Status))
		}
		return names, page.NextCursor
	}
	for _, row := range []struct {
		query registry.ComponentQuery
		want  []string
		next  string
		read  int // components of which the store was asked
	}{
		{registry.ComponentQuery{}, []string{"asm available", "asm-eu unavailable", "writer probing"}, "", 3},
		{registry.ComponentQuery{Limit: 1}, []string{"asm available"}, afterComponent("asm"), 2},
		{registry.ComponentQuery{Limit: 2, Cursor: afterComponent("asm")}, []string{"asm-eu unavailable", "writer probing"}, "", 2},
		{registry.ComponentQuery{Cursor: afterComponent("b")}, []string{"writer probing"}, "", 1},
		{registry.ComponentQuery{Cursor: afterComponent("writer")}, nil, "", 0},
		{registry.ComponentQuery{Status: registry.Probing, Limit: 1}, []string{"writer probing"}, "", 3},
		{registry.ComponentQuery{Status: registry.Unknown}, nil, "", 3},
		{registry.ComponentQuery{Search: "ASM"}, []string{"asm available", "asm-eu unavailable"}, "", 2},
		{registry.ComponentQuery{Search: "r", Limit: 1}, []string{"writer probing"}, "", 1},
		{registry.ComponentQuery{Search: "s", Limit: 1}, []string{"asm available"}, afterComponent("asm"), 2},
		{registry.ComponentQuery{Search: "eu", Status: registry.Available}, nil, "", 1},
		{registry.ComponentQuery{Search: "%"}, nil, "", 0},
		{registry.ComponentQuery{Search: "asm", Kind: registry.KindModel}, nil, "", 0},
		{registry.ComponentQuery{Kind: registry.KindMCPServer, Limit: 2}, []string{"asm available", "asm-eu unavailable"}, afterComponent("asm-eu"), 3},
	} {
		n.store.asked = nil
		names, next := list(row.query)
		read := 0
		for _, asked := range n.store.asked {
			read += len(asked)
		}
		if diff := cmp.Diff(row.want, names); diff != "" || next != row.next || read != row.read || len(n.store.asked) > 1 {
			t.Errorf("%+v: the next is after %q, %d were read (-want +got):\n%s", row.query, next, read, diff)
		}
	}
	for _, query := range []registry.ComponentQuery{
		{Limit: -1},
		{Limit: registry.MaxPage + 1},
		{Kind: "teapot"},
		{Status: "green"},
		{Cursor: "No Name"},
		{Search: strings.Repeat("a", registry.MaxName+1)},
	} {
		_, err := n.Components(t.Context(), query)
		wantFault(t, err, fault.InvalidArgument)
	}
	n.store.breakDown(errBroken)
	_, err := n.Components(t.Context(), registry.ComponentQuery{})
	wantFault(t, err, fault.Unavailable)
}

// TestComponents_readsInPartsForAPageOfOneStatus lists what all have, which must not
// cost a reading of all for each page, and what none has.
func TestComponents_readsInPartsForAPageOfOneStatus(t *testing.T) {
	t.Parallel()
	const many, most = 2_100, 500
	registered := &registry.Registered{}
	for i := range many {
		registered.Components = append(registered.Components, registry.Component{
			Name: fmt.Sprintf("c%d", i), Spec: &registry.MCPServer{URL: "http://127.0.0.1:1"},
		})
	}
	b := start(t, registered)
	for status, pages := range map[registry.Status]int{registry.Probing: many / registry.MaxPage, registry.Available: 1} {
		listed, next := 0, ""
		for range pages {
			b.store.asked = nil
			page, err := b.Components(t.Context(), registry.ComponentQuery{Status: status, Limit: registry.MaxPage, Cursor: next})
			if err != nil {
				t.Fatal(err)
			}
			listed, next = listed+len(page.Components), page.NextCursor
			for _, names := range b.store.asked {
				if len(names) > most {
					t.Errorf("the store was asked of %d components at once", len(names))
				}
			}
			if status == registry.Probing && len(b.store.asked) != 1 {
				t.Errorf("a page took %d questions", len(b.store.asked))
			}
		}
		if want := map[registry.Status]int{registry.Probing: many}[status]; listed != want || next != "" {
			t.Errorf("%s: %d are listed, want %d, and the next is after %q", status, listed, want, next)
		}
	}
}

func TestComponent_tellsAllThatIsKnown(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	view, err := n.Component(t.Context(), "asm")
	if err != nil || view.Status != registry.Probing || view.Result != nil || view.ResultID != nil {
		t.Errorf("before a probe: %+v, %v", view, err)
	}
	n.preflight(t, "nightly")
	n.primary.dead.Store(true)
	n.preflight(t, "nightly")
	view, err = n.Component(t.Context(), "asm")
	if err != nil || view.Status != registry.Unavailable || len(view.Changes) != 2 || view.Changes[0].To != registry.Unavailable ||
		view.AcceptedDigest == "" || view.AcceptedAt == "" || view.Drift != nil {
		t.Errorf("got %+v, %v", view, err)
	}
	if diff := cmp.Diff([]string{"recon"}, view.Slots); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
	var result registry.ProbeResult
	if err := json.Unmarshal(view.Result, &result); err != nil || result.Healthz.Cause != registry.HTTPStatus {
		t.Errorf("got %s, %v", view.Result, err)
	}
	_, err = n.Component(t.Context(), "asmm")
	wantFault(t, err, fault.NotFound)
	n.store.breakDown(errBroken)
	_, err = n.Component(t.Context(), "asm")
	wantFault(t, err, fault.Unavailable)
}
