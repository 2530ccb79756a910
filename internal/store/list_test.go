package store_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
	"github.com/countersign-dev/countersign/internal/task"
)

// shelf is a database of tasks that random agents made, with its gate.
type shelf struct {
	database *store.Database
	*task.Gate

	at       time.Time
	rejected []string // ids of tasks without a successor
	short    int      // pages that were not full, and not the last
}

// agentsOfLists are few, so that each has much and little of a kind.
var agentsOfLists = []string{"ann", "ben", "cy"}

// grow creates a task and brings it some way, in time that does not always go on.
func (s *shelf) grow(t *rapid.T) {
	agent := func(label string) *string { return new(rapid.SampledFrom(agentsOfLists).Draw(t, label)) }
	wait := func() { s.at = s.at.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, "wait")) * time.Millisecond) }
	wait()
	request := task.CreateRequest{Title: "t", AcceptanceCriteria: []string{"c"}, CreatedBy: agent("creator")}
	if len(s.rejected) > 0 && rapid.Bool().Draw(t, "superseding") {
		request.Supersedes, s.rejected = &s.rejected[0], s.rejected[1:]
	}
	created, err := s.Create(t.Context(), task.Anonymous(), request)
	if err != nil {
		t.Fatal(err)
	}
	steps := rapid.SampledFrom([]int{0, 1, 1, 2}).Draw(t, "steps")
	if steps > 0 {
		wait()
		_, err = s.Claim(t.Context(), task.Anonymous(), task.ClaimRequest{TaskID: string(created.TaskID), AgentID: agent("prover"), Evidence: "e"})
	}
	if steps > 1 && err == nil {
		wait()
		verdict := string(rapid.SampledFrom([]task.Status{task.Verified, task.Rejected}).Draw(t, "verdict"))
		_, err = s.Verify(t.Context(), task.Anonymous(), task.VerifyRequest{TaskID: string(created.TaskID), VerifierAgentID: new("vic"), Verdict: verdict, Notes: "n"})
		if verdict == string(task.Rejected) {
			s.rejected = append(s.rejected, string(created.TaskID))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// every follows the cursors of a list to its end.
func (s *shelf) every(t *rapid.T, query task.Query) []task.Summary {
	all := []task.Summary{}
	for range 1000 {
		page, err := s.List(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Tasks) > *query.Limit {
			t.Fatalf("%d tasks on a page of %d", len(page.Tasks), *query.Limit)
		}
		all = append(all, page.Tasks...)
		if page.NextCursor == "" {
			return all
		}
		if len(page.Tasks) < *query.Limit {
			s.short++
		}
		query.Cursor = &page.NextCursor
	}
	t.Fatalf("the list has no end")
	return nil
}

// queried draws filters, an order and a limit.
func queried(t *rapid.T, all []task.Summary) task.Query {
	query := task.Query{Limit: new(rapid.IntRange(1, 7).Draw(t, "limit"))}
	maybe := func(label string) *string {
		if rapid.Bool().Draw(t, "with "+label) {
			return new(rapid.SampledFrom(agentsOfLists).Draw(t, label))
		}
		return nil
	}
	query.CreatedBy, query.ClaimedBy, query.VerifiableBy = maybe("created by"), maybe("claimed by"), maybe("verifiable by")
	if len(all) > 0 && rapid.IntRange(0, 9).Draw(t, "with supersedes") == 0 {
		if superseded := rapid.SampledFrom(all).Draw(t, "task").Supersedes; superseded != "" {
			query.Supersedes = new(string(superseded))
		}
	}
	if rapid.Bool().Draw(t, "with status") {
		query.Status = new(string(rapid.SampledFrom(task.Statuses()).Draw(t, "status")))
		query.Order = new(rapid.SampledFrom([]string{task.OrderNewest, task.OrderOldest}).Draw(t, "order"))
	}
	return query
}

// picked is what a query asks for, in its order, of all tasks.
func picked(all []task.Summary, query task.Query) []task.Summary {
	is := func(wanted *string, value string) bool { return wanted == nil || *wanted == value }
	all = slices.DeleteFunc(slices.Clone(all), func(s task.Summary) bool {
		return !is(query.Status, string(s.Status)) || !is(query.CreatedBy, string(s.CreatedBy)) || !is(query.ClaimedBy, string(s.ClaimedBy)) ||
			query.Supersedes != nil && *query.Supersedes != string(s.Supersedes) ||
			query.VerifiableBy != nil && (s.Status != task.Claimed || is(query.VerifiableBy, string(s.ClaimedBy)))
	})
	slices.SortFunc(all, func(a, b task.Summary) int {
		if query.Order != nil && *query.Order == task.OrderOldest {
			return cmp.Or(cmp.Compare(a.UpdatedAt, b.UpdatedAt), cmp.Compare(a.TaskID, b.TaskID))
		}
		return cmp.Compare(b.TaskID, a.TaskID)
	})
	return all
}

// TestList_pagesTellWhatTheFiltersPick follows the cursors of random lists, whose
// pages look at very few tasks: together they tell each task that a look at all of
// them picks, once and in its order.
func TestList_pagesTellWhatTheFiltersPick(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh storetest.Fresh) {
		s := &shelf{database: open(t, fresh(t), store.Options{}), at: time.Now()}
		s.Gate = task.NewGate(s.database, func() time.Time { return s.at })
		rapid.Check(t, func(t *rapid.T) {
			for range rapid.IntRange(0, 3).Draw(t, "tasks") {
				s.grow(t)
			}
			all := s.every(t, task.Query{Limit: new(task.MaxPage)})
			for range 4 {
				s.database.LookAt(rapid.IntRange(1, 9).Draw(t, "look at"))
				query := queried(t, all)
				if diff := gocmp.Diff(picked(all, query), s.every(t, query)); diff != "" {
					t.Fatalf("%s (-picked +listed):\n%s", described(query), diff)
				}
			}
		})
		if s.short == 0 {
			t.Error("each page but the last was full: none ended where it had looked at enough")
		}
	})
}

func described(query task.Query) string {
	text := fmt.Sprintf("limit %d", *query.Limit)
	for name, value := range map[string]*string{
		"status": query.Status, "created_by": query.CreatedBy, "claimed_by": query.ClaimedBy, "verifiable_by": query.VerifiableBy, "order": query.Order,
		"supersedes": query.Supersedes,
	} {
		if value != nil {
			text += ", " + name + " " + *value
		}
	}
	return text
}
