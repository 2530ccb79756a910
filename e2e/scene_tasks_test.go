//go:build unix

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/task"
)

// sceneTask is the life of a task, as times before now. What is zero or empty did
// not happen yet.
type sceneTask struct {
	key       string // how tests call it; empty for one that nothing is asked of
	title     string
	criteria  []string
	by        string
	created   time.Duration
	prover    string
	claimed   time.Duration
	evidence  string
	verifier  string
	decided   time.Duration
	verdict   string
	notes     string
	successor string // the key of the task that it supersedes
}

// sceneStep is one transition of one task.
type sceneStep struct {
	at time.Time
	do func(context.Context, *task.Gate) error
}

const (
	sceneHour = time.Hour
	sceneDay  = 24 * time.Hour
)

// sceneTasks is what a fleet of agents did in the last days.
func sceneTasks() []sceneTask {
	all := []sceneTask{
		{
			key: "pending", title: "Rotate the signing key of the release pipeline", by: "planner", created: 3 * sceneDay,
			criteria: []string{"The old key is revoked", "A release signed with the new key verifies with cosign 3"},
		},
		{title: "Document the retention of scan reports", by: "planner", created: 26 * sceneHour, criteria: []string{"docs/retention.md names every table that keeps reports"}},
		{title: "Retry the nightly export when the warehouse is down", by: "lead-maria", created: 7 * sceneHour, criteria: []string{"An export that fails at 02:00 is repeated by 03:00", "Two exports of one day never overlap"}},
		{title: "Remove the unused feature flag new-checkout", by: "planner", created: 45 * time.Minute, criteria: []string{"grep finds no mention of new-checkout outside the changelog"}},
		{
			key: "claimed", title: "Export the audit trail as CSV", by: "lead-maria", created: 3 * sceneDay, prover: "builder-2", claimed: 31 * sceneHour,
			criteria: []string{"GET /export answers text/csv", "A file of a million rows is streamed in under 200 MB of memory", "Formulas in cells are escaped"},
			evidence: longText(120),
		},
		{
			title: "Upgrade the base image to Debian 12.9", by: "planner", created: 20 * sceneHour, prover: "builder-1", claimed: 9 * sceneHour,
			criteria: []string{"The scanner reports no finding of severity high or above"},
			evidence: "docker build passed; trivy image --severity HIGH,CRITICAL registry.example/scanner:v1 printed: Total: 0.",
		},
		{
			title: "Bound the size of uploaded reports", by: "planner", created: 5 * sceneHour, prover: "builder-3", claimed: 40 * time.Minute,
			criteria: []string{"A report of 11 MiB is answered with 413"}, evidence: "curl --data-binary @11mib.bin answered 413 Payload Too Large.",
		},
		{
			key: "verified", title: "Add a /healthz endpoint to the api service", by: "planner", created: 2 * sceneDay, prover: "builder-1", claimed: 46 * sceneHour,
			criteria: []string{"GET /healthz on the running service returns HTTP 200", `The body is JSON and contains {"status":"ok"}`},
			evidence: "Added the route. curl -i on the running service returns 200 with a body of {\"status\":\"ok\"}. npm test: 14 passed.",
			verifier: "reviewer-anna", decided: 45 * sceneHour, verdict: "verified", notes: "Started the service from a clean clone and called it myself: 200, the body as stated.",
		},
		{
			key: "lineage-1", title: "Make the importer idempotent", by: "lead-maria", created: 4 * sceneDay, prover: "builder-2", claimed: 90 * sceneHour,
			criteria: []string{"Importing one file twice leaves one copy of each row", "A crash in the middle leaves nothing behind"},
			evidence: "Ran the importer twice on the sample file; the row count stayed 1,204.", verifier: "reviewer-anna", decided: 88 * sceneHour,
			verdict: "rejected", notes: "kill -9 in the middle of the import leaves 611 rows behind. The second criterion does not hold.",
		},
		{
			key: "lineage-2", title: "Make the importer idempotent", by: "lead-maria", created: 80 * sceneHour, prover: "builder-2", claimed: 60 * sceneHour, successor: "lineage-1",
			criteria: []string{"Importing one file twice leaves one copy of each row", "A crash in the middle leaves nothing behind"},
			evidence: "The import is one transaction now.", verifier: "reviewer-ben", decided: 58 * sceneHour,
			verdict: "rejected", notes: "With two files at once the second one waits for ever: see the stack trace in the log of 14:02.",
		},
		{
			key: "lineage-3", title: "Make the importer idempotent, also for two files at once", by: "lead-maria", created: 50 * sceneHour, prover: "builder-3", claimed: 4 * sceneHour, successor: "lineage-2",
			criteria: []string{"Importing one file twice leaves one copy of each row", "A crash in the middle leaves nothing behind", "Two files are imported at once"},
			evidence: "100 rounds of kill -9 with two files at once: no row too many, none too few.",
		},
		{
			key: "rejected", title: "Speed up the search page", by: "planner", created: 30 * sceneHour, prover: "builder-1", claimed: 28 * sceneHour,
			criteria: []string{"The 95th percentile of /search is below 300 ms at 50 requests a second"},
			evidence: "It feels much faster now.", verifier: "reviewer-ben", decided: 27 * sceneHour, verdict: "rejected",
			notes: "hey -q 50 -z 60s: p95 is 812 ms. A feeling is no measurement.",
		},
	}
	return slices.Concat(all, sceneStamps(), sceneReviews())
}

// sceneStamps are the tasks of a verifier that has never said no, and never took
// ten seconds.
func sceneStamps() []sceneTask {
	var all []sceneTask
	for i := range 12 {
		created := time.Duration(30-2*i) * sceneHour
		claimed := created - 30*time.Minute
		all = append(all, sceneTask{
			title: fmt.Sprintf("Translate the strings of module %d into German", i+1), by: "planner", created: created,
			criteria: []string{"No key of the module is missing in de.json"}, prover: "builder-4", claimed: claimed,
			evidence: "All keys are there.", verifier: "night-bot", decided: claimed - time.Duration(2+i%4)*time.Second, verdict: "verified",
			notes: "Looks good to me.",
		})
	}
	return all
}

// sceneReviews are tasks that were looked at for a while.
func sceneReviews() []sceneTask {
	titles := []string{
		"Log the request id of every refused call", "Cache the list of countries for an hour", "Validate webhooks by their signature",
		"Show the time zone beside every date", "Drop the column users.legacy_token", "Fail the build on an unused translation",
	}
	var all []sceneTask
	for i, title := range titles {
		created := time.Duration(60-7*i) * sceneHour
		made := sceneTask{
			title: title, by: "lead-maria", created: created, criteria: []string{"A test shows it, and fails without the change"},
			prover: fmt.Sprintf("builder-%d", i%3+1), claimed: created - 2*sceneHour, evidence: "The test is in the same commit.",
			verifier: []string{"reviewer-anna", "reviewer-ben"}[i%2], decided: created - 2*sceneHour - time.Duration(20+9*i)*time.Minute,
			verdict: "verified", notes: "Reverted the change: the test fails. With it: it passes.",
		}
		if i == 3 {
			made.verdict, made.notes = "rejected", "The test passes without the change too."
		}
		all = append(all, made)
	}
	return all
}

// liveThrough has tasks live their lives in the order of time, and returns their
// ids by key.
func liveThrough(t *testing.T, store task.Store, now time.Time, all []sceneTask) map[string]string {
	t.Helper()
	ids := map[string]string{}
	var steps []sceneStep
	for i := range all {
		each := &all[i]
		if each.key == "" {
			each.key = fmt.Sprintf("task %d", i)
		}
		steps = append(steps, each.steps(now, ids)...)
	}
	slices.SortStableFunc(steps, func(a, b sceneStep) int { return a.at.Compare(b.at) })
	for _, step := range steps {
		must(t, step.do(t.Context(), task.NewGate(store, func() time.Time { return step.at })))
	}
	return ids
}

// steps are the transitions of a task; its id is known to ids once it is created.
func (s *sceneTask) steps(now time.Time, ids map[string]string) []sceneStep {
	by := func(agent string) task.Caller {
		return task.Caller{Principal: task.Principal{Kind: "process", ID: "fleet/" + agent}}
	}
	steps := []sceneStep{{now.Add(-s.created), func(ctx context.Context, gate *task.Gate) error {
		request := task.CreateRequest{Title: s.title, AcceptanceCriteria: s.criteria, CreatedBy: &s.by}
		if s.successor != "" {
			request.Supersedes = new(ids[s.successor])
		}
		created, err := gate.Create(ctx, by(s.by), request)
		ids[s.key] = string(created.TaskID)
		return err
	}}}
	if s.prover != "" {
		steps = append(steps, sceneStep{now.Add(-s.claimed), func(ctx context.Context, gate *task.Gate) error {
			_, err := gate.Claim(ctx, by(s.prover), task.ClaimRequest{TaskID: ids[s.key], AgentID: &s.prover, Evidence: s.evidence})
			return err
		}})
	}
	if s.verifier != "" {
		steps = append(steps, sceneStep{now.Add(-s.decided), func(ctx context.Context, gate *task.Gate) error {
			_, err := gate.Verify(ctx, by(s.verifier), task.VerifyRequest{TaskID: ids[s.key], VerifierAgentID: &s.verifier, Verdict: s.verdict, Notes: s.notes})
			return err
		}})
	}
	return steps
}
