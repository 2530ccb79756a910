package storetest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/task"
)

// countedModel does random transitions of random agents, at times that go back
// too, and rolls up between them. Whenever it looks, the tallies are what a full
// scan of the transitions adds up to.
func countedModel(t *testing.T, location string) {
	db, foreign := open(t, location), raw(t, location, false)
	rapid.Check(t, func(r *rapid.T) {
		agents := rapid.Custom(func(r *rapid.T) task.AgentID {
			return task.AgentID(fmt.Sprint("agent-", rapid.IntRange(0, 5).Draw(r, "agent")))
		})
		moments := rapid.Custom(func(r *rapid.T) task.Time {
			return task.At(day().Add(time.Duration(rapid.IntRange(-100_000, 100_000).Draw(r, "second")) * time.Second))
		})
		var ids []task.ID
		r.Repeat(map[string]func(*rapid.T){
			"create": func(r *rapid.T) {
				created := newTask(agents.Draw(r, "creator"), "t", "c")
				created.At = moments.Draw(r, "at")
				if _, err := db.Create(t.Context(), sealTask(created)); err != nil {
					r.Fatal(err)
				}
				ids = append(ids, created.TaskID)
			},
			"change": func(r *rapid.T) {
				if len(ids) == 0 {
					return
				}
				kind := rapid.SampledFrom([]task.Kind{task.KindClaimed, task.KindVerified, task.KindRejected}).Draw(r, "kind")
				record := newRecord(kind, rapid.SampledFrom(ids).Draw(r, "task"), agents.Draw(r, "by"), "text")
				record.At = moments.Draw(r, "at")
				_, _ = apply(t.Context(), db, sealRecord(record)) // A refusal makes no event.
			},
			"roll up": func(r *rapid.T) {
				if _, err := db.RollUp(t.Context(), day()); err != nil {
					r.Fatal(err)
				}
			},
		})
		talliesAgree(t, db, foreign)
	})
}
