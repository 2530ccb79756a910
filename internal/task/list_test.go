package task_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store/storetest"
	"github.com/countersign-dev/countersign/internal/task"
)

func TestList_pagesFromTheNewestWhileTasksAreAdded(t *testing.T) {
	h := newHouse()
	var want []task.ID
	for range 7 {
		want = append(want, h.pending(t))
	}
	slices.Reverse(want)
	var got []task.ID
	query := task.Query{Limit: new(3)}
	for {
		page, err := h.List(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, listed := range page.Tasks {
			got = append(got, listed.TaskID)
		}
		if page.NextCursor == "" {
			break
		}
		query.Cursor = &page.NextCursor
		h.pending(t)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

// TestList_pagesFromTheOldestOfAStatus reads pages of two while a task leaves the
// status and others reach it: no task that stays is told twice or left out.
func TestList_pagesFromTheOldestOfAStatus(t *testing.T) {
	h := newHouse()
	var pending []task.ID
	for range 5 {
		pending = append(pending, h.pending(t))
	}
	var want []task.ID // claimed in another order than they were created
	for _, i := range []int{3, 0, 4, 1, 2} {
		if _, err := h.Claim(t.Context(), anybody, task.ClaimRequest{TaskID: string(pending[i]), AgentID: new("dev"), Evidence: "e"}); err != nil {
			t.Fatal(err)
		}
		want = append(want, pending[i])
	}
	query := task.Query{Status: new("claimed"), Order: new(task.OrderOldest), Limit: new(2)}
	var got []task.ID
	for range 3 {
		page, err := h.List(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, listed := range page.Tasks {
			got = append(got, listed.TaskID)
		}
		query.Cursor = &page.NextCursor
		verdict := task.VerifyRequest{TaskID: string(got[len(got)-2]), VerifierAgentID: new("rev"), Verdict: "verified"}
		if _, err := h.Verify(t.Context(), anybody, verdict); err != nil {
			t.Fatal(err)
		}
		want = append(want, h.claimed(t))
	}
	if diff := cmp.Diff(want[:6], got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

// shortSighted is a store that finds no task where it looks, and tells up to where it
// looked, once.
type shortSighted struct {
	task.Store

	upTo  task.Place
	asked []task.Filter
}

func (s *shortSighted) List(_ context.Context, filter task.Filter) ([]task.Summary, task.Place, error) {
	s.asked = append(s.asked, filter)
	if len(s.asked) > 1 {
		return nil, task.Place{}, nil
	}
	return nil, s.upTo, nil
}

func TestList_goesOnAfterAPageWithoutTasks(t *testing.T) {
	for order, want := range map[string]task.Filter{
		task.OrderNewest: {Status: task.Claimed, VerifiableBy: "rev", Limit: task.DefaultPage, Before: unknownID},
		task.OrderOldest: {Status: task.Claimed, VerifiableBy: "rev", Limit: task.DefaultPage, OldestFirst: true, After: task.Place{At: 7, ID: unknownID}},
	} {
		store := &shortSighted{Store: storetest.NewOracle(), upTo: task.Place{At: 7, ID: unknownID}}
		gate := task.NewGate(store, newClock())
		query := task.Query{Status: new("claimed"), VerifiableBy: new("rev"), Order: &order}
		page, err := gate.List(t.Context(), query)
		if err != nil || page.Tasks == nil || len(page.Tasks) != 0 || page.NextCursor == "" {
			t.Fatalf("%s: %+v, %v, want a page without tasks that is not the last", order, page, err)
		}
		query.Cursor = &page.NextCursor
		if page, err = gate.List(t.Context(), query); err != nil || page.NextCursor != "" {
			t.Errorf("%s: then %+v, %v, want the last page", order, page, err)
		}
		if diff := cmp.Diff(want, store.asked[1]); diff != "" {
			t.Errorf("%s goes on (-want +got):\n%s", order, diff)
		}
	}
}

func TestList_refusesTheCursorOfAnotherOrder(t *testing.T) {
	h := newHouse()
	h.pending(t)
	h.pending(t)
	for first, then := range map[string]string{task.OrderNewest: task.OrderOldest, task.OrderOldest: task.OrderNewest} {
		page, err := h.List(t.Context(), task.Query{Status: new("pending"), Order: &first, Limit: new(1)})
		if err != nil || page.NextCursor == "" {
			t.Fatalf("%s: cursor %q, error %v", first, page.NextCursor, err)
		}
		_, err = h.List(t.Context(), task.Query{Status: new("pending"), Order: &then, Cursor: &page.NextCursor})
		mustDetail(t, mustFault(t, err, fault.InvalidArgument), fault.Field, "cursor")
	}
}

// TestList_refusesTheCursorOfTheOldestOfAnotherStatus: a task reaches each status at
// another moment, so a place among those of one is none among those of another.
func TestList_refusesTheCursorOfTheOldestOfAnotherStatus(t *testing.T) {
	h := newHouse()
	for range 2 {
		h.pending(t)
		h.claimed(t)
	}
	for first, then := range map[task.Status]task.Status{task.Pending: task.Claimed, task.Claimed: task.Verified} {
		query := task.Query{Status: new(string(first)), Order: new(task.OrderOldest), Limit: new(1)}
		page, err := h.List(t.Context(), query)
		if err != nil || page.NextCursor == "" {
			t.Fatalf("%s: cursor %q, error %v", first, page.NextCursor, err)
		}
		query.Status, query.Cursor = new(string(then)), &page.NextCursor
		_, err = h.List(t.Context(), query)
		coded := mustFault(t, err, fault.InvalidArgument)
		if mustDetail(t, coded, fault.Field, "cursor"); !strings.Contains(coded.Hint, "the same order and status") {
			t.Errorf("%s: the hint is %q", first, coded.Hint)
		}
		query.Status, query.Cursor = new(string(first)), new(page.NextCursor+"\n")
		_, err = h.List(t.Context(), query)
		mustDetail(t, mustFault(t, err, fault.InvalidArgument), fault.Field, "cursor")
	}
}

func TestList_givesNoCursorAfterAFullLastPage(t *testing.T) {
	h := newHouse()
	for range 20 {
		h.pending(t)
	}
	page, err := h.List(t.Context(), task.Query{})
	if err != nil || len(page.Tasks) != task.DefaultPage || page.NextCursor != "" {
		t.Errorf("%d tasks, cursor %q, error %v", len(page.Tasks), page.NextCursor, err)
	}
}

func TestList_filters(t *testing.T) {
	h := newHouse()
	pending, claimed := h.pending(t), h.claimed(t)
	rejected := h.decided(t, task.Rejected)
	made, err := h.Create(t.Context(), lockedTo("rev"), task.CreateRequest{
		Title: "again", AcceptanceCriteria: []string{"y"}, Supersedes: new(string(rejected)),
	})
	if err != nil {
		t.Fatal(err)
	}
	successor := made.TaskID
	for name, c := range map[string]struct {
		query task.Query
		want  []task.ID
	}{
		"nothing":             {task.Query{}, []task.ID{successor, rejected, claimed, pending}},
		"status":              {task.Query{Status: new("pending")}, []task.ID{successor, pending}},
		"creator":             {task.Query{CreatedBy: new(" REV ")}, []task.ID{successor}},
		"claimer":             {task.Query{ClaimedBy: new("dev")}, []task.ID{rejected, claimed}},
		"verifiable by rev":   {task.Query{VerifiableBy: new("rev")}, []task.ID{claimed}},
		"verifiable by dev":   {task.Query{VerifiableBy: new("dev")}, nil},
		"superseding":         {task.Query{Supersedes: new(upperCase(rejected))}, []task.ID{successor}},
		"superseding nothing": {task.Query{Supersedes: new(unknownID)}, nil},
		"two together":        {task.Query{Status: new("rejected"), ClaimedBy: new("dev")}, []task.ID{rejected}},
	} {
		page, err := h.List(t.Context(), c.query)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []task.ID
		for _, listed := range page.Tasks {
			got = append(got, listed.TaskID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if want := (task.Counts{Pending: 2, Claimed: 1, Rejected: 1}); page.Counts != want || page.CountsCappedAt != 1000 {
			t.Errorf("%s: counts %+v capped at %d", name, page.Counts, page.CountsCappedAt)
		}
	}
}

func TestList_hasTheShapeOfTheContract(t *testing.T) {
	h := newHouse()
	page, err := h.List(t.Context(), task.Query{})
	if err != nil {
		t.Fatal(err)
	}
	empty, _ := json.Marshal(page)
	if want := `{"tasks":[],"counts":{"pending":0,"claimed":0,"verified":0,"rejected":0},"counts_capped_at":1000}`; string(empty) != want {
		t.Errorf("got %s\nwant %s", empty, want)
	}
	id := string(h.claimed(t))
	page, err = h.List(t.Context(), task.Query{})
	if err != nil {
		t.Fatal(err)
	}
	one, _ := json.Marshal(page.Tasks)
	if want := `[{"task_id":"` + id + `","title":"Add /healthz","status":"claimed","created_by":"dev","created_at":"2026-11-30T12:00:00.001Z",` +
		`"claimed_by":"dev","updated_at":"2026-11-30T12:00:00.002Z","criteria_count":1}]`; string(one) != want {
		t.Errorf("got %s\nwant %s", one, want)
	}
}

func TestList_refusesBadFilters(t *testing.T) {
	h := newHouse()
	for name, c := range map[string]struct {
		query task.Query
		code  fault.Code
		field any
	}{
		"limit 0":          {task.Query{Limit: new(0)}, fault.InvalidArgument, "limit"},
		"limit 101":        {task.Query{Limit: new(101)}, fault.InvalidArgument, "limit"},
		"limit below 0":    {task.Query{Limit: new(-1)}, fault.InvalidArgument, "limit"},
		"status":           {task.Query{Status: new("done")}, fault.InvalidArgument, "status"},
		"empty status":     {task.Query{Status: new("")}, fault.InvalidArgument, "status"},
		"cursor":           {task.Query{Cursor: new("next")}, fault.InvalidArgument, "cursor"},
		"empty cursor":     {task.Query{Cursor: new("")}, fault.InvalidArgument, "cursor"},
		"order":            {task.Query{Order: new("newer")}, fault.InvalidArgument, "order"},
		"empty order":      {task.Query{Order: new("")}, fault.InvalidArgument, "order"},
		"oldest of all":    {task.Query{Order: new("oldest")}, fault.InvalidArgument, "order"},
		"oldest cursor":    {task.Query{Order: new("oldest"), Status: new("pending"), Cursor: new("next")}, fault.InvalidArgument, "cursor"},
		"creator":          {task.Query{CreatedBy: new("a b")}, fault.InvalidAgentID, "created_by"},
		"claimer":          {task.Query{ClaimedBy: new("")}, fault.InvalidAgentID, "claimed_by"},
		"verifiable":       {task.Query{VerifiableBy: new("é")}, fault.InvalidAgentID, "verifiable_by"},
		"superseded":       {task.Query{Supersedes: new("17")}, fault.NotFound, nil},
		"cursor and agent": {task.Query{CreatedBy: new("a b"), Cursor: new("next")}, fault.InvalidArgument, "cursor"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.List(t.Context(), c.query)
			mustDetail(t, mustFault(t, err, c.code), fault.Field, c.field)
		})
	}
	for _, limit := range []int{1, 100} {
		if _, err := h.List(t.Context(), task.Query{Limit: &limit}); err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

func TestTask_refusesAnIDThatNamesNoTask(t *testing.T) {
	h := newHouse()
	for _, id := range []string{"", "17", unknownID, "{" + unknownID + "}"} {
		_, err := h.Task(t.Context(), id)
		mustFault(t, err, fault.NotFound)
	}
}
