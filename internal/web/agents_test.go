package web_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/web"
)

// verifier is an agent with verdicts on the claims of provers, given most first.
func verifier(id task.AgentID, mean time.Duration, verdicts ...task.PairTally) task.AgentView {
	view := task.AgentView{AgentTally: task.AgentTally{AgentID: id, MeanVerdictMs: new(mean.Milliseconds()), LastAt: before(time.Minute)}, RolledUpAt: new(before(3 * time.Second))}
	for _, pair := range verdicts {
		pair.Verifier, pair.MeanVerdictMs = id, mean.Milliseconds()
		view.Verified += pair.Verified
		view.Rejected += pair.Rejected
		view.Verifies = append(view.Verifies, pair)
	}
	view.MarkBy(view.Verifies)
	return view
}

// counting tells of agents, in this order.
func counting(views ...task.AgentView) *countDouble {
	counts := &countDouble{page: task.AgentPage{RolledUpAt: new(before(3 * time.Second)), Provers: map[task.AgentID][]task.PairTally{}}, agents: map[task.AgentID]task.AgentView{}}
	for _, view := range views {
		counts.page.Agents = append(counts.page.Agents, view.AgentTally)
		counts.page.Provers[view.AgentID] = view.Verifies[:min(len(view.Verifies), task.MostProvers)]
		counts.agents[view.AgentID] = view
	}
	return counts
}

// someAgents are verifiers of every sort, and one that is none.
func someAgents() *countDouble {
	fair := verifier("claude-2", 14*time.Minute,
		task.PairTally{Prover: "codex-1", Verified: 12, Rejected: 3}, task.PairTally{Prover: "aider", Verified: 6},
		task.PairTally{Prover: "cursor-3", Verified: 4, Rejected: 1}, task.PairTally{Prover: "gemini", Verified: 1})
	fair.Created, fair.Claimed, fair.ClaimsVerified, fair.ClaimsRejected = 1, 9, 5, 3
	fair.VerifiedBy = []task.PairTally{{Prover: "claude-2", Verifier: "yes-bot", Verified: 5, Rejected: 3, MeanVerdictMs: 4200}}
	rubber := verifier("yes-bot", 4200*time.Millisecond, task.PairTally{Prover: "codex-1", Verified: 20})
	idle := task.AgentView{AgentTally: task.AgentTally{AgentID: "planner", Created: 7, LastAt: before(time.Hour)}}
	return counting(fair, rubber, idle)
}

func TestAgents_areTheGoldenPages(t *testing.T) {
	old := someAgents()
	old.page.RolledUpAt, old.page.NextCursor = new(before(web.StaleCount)), "planner"
	idle := counting(task.AgentView{AgentTally: task.AgentTally{AgentID: "planner", Created: 7}})
	for name, of := range map[string]struct {
		counts  *countDouble
		address string
	}{
		"agents.html":         {someAgents(), "/agents"},
		"agents_by_name.html": {old, "/agents?order=name&cursor=aider"},
		"agents_idle.html":    {idle, "/agents"},
		"agents_none.html":    {&countDouble{}, "/agents"},
		"agent.html":          {someAgents(), "/agents/claude-2"},
		"agent_idle.html":     {someAgents(), "/agents/planner"},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, mainOf(t, visit(t, web.Options{Agents: of.counts}, of.address).Body.String()))
		})
	}
}

func TestAgents_marksWhatMayBeARubberStamp(t *testing.T) {
	const never, hasty, pair = "never rejects", "decides in under 1 min", " verdicts are on codex-1"
	on := func(prover task.AgentID, verified, rejected int64) task.PairTally {
		return task.PairTally{Prover: prover, Verified: verified, Rejected: rejected}
	}
	for name, of := range map[string]struct {
		mean     time.Duration
		verdicts []task.PairTally
		want     []string
	}{
		"too few to say":              {time.Millisecond, []task.PairTally{on("codex-1", 9, 0)}, nil},
		"all three, from ten on":      {time.Millisecond, []task.PairTally{on("codex-1", 10, 0)}, []string{never, hasty, "100\u00a0% of its 10" + pair}},
		"one rejection":               {time.Hour, []task.PairTally{on("codex-1", 5, 1), on("aider", 5, 0)}, nil},
		"never, over many provers":    {time.Hour, []task.PairTally{on("codex-1", 5, 0), on("aider", 5, 0)}, []string{never}},
		"a minute is not hasty":       {time.Minute, []task.PairTally{on("codex-1", 6, 1), on("aider", 5, 0)}, nil},
		"less than a minute is":       {time.Minute - time.Millisecond, []task.PairTally{on("codex-1", 6, 1), on("aider", 5, 0)}, []string{hasty}},
		"79 of 100 on one prover":     {time.Hour, []task.PairTally{on("codex-1", 78, 1), on("aider", 21, 0)}, nil},
		"80 of 100 on one prover":     {time.Hour, []task.PairTally{on("codex-1", 79, 1), on("aider", 20, 0)}, []string{"80\u00a0% of its 100" + pair}},
		"nearly all on one prover":    {time.Hour, []task.PairTally{on("codex-1", 999, 0), on("aider", 0, 1)}, []string{"99\u00a0% of its 1000" + pair}},
		"rejections count as well":    {time.Hour, []task.PairTally{on("codex-1", 0, 9), on("aider", 1, 0)}, []string{"90\u00a0% of its 10" + pair}},
		"a verifier that says no":     {time.Hour, []task.PairTally{on("codex-1", 0, 6), on("aider", 0, 6)}, nil},
		"nobody to tell of its pairs": {time.Hour, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			counts := counting(verifier("judge", of.mean, of.verdicts...))
			for _, address := range []string{"/agents?order=name", "/agents/judge"} {
				page := mainOf(t, visit(t, web.Options{Agents: counts}, address).Body.String())
				var got []string
				for _, part := range strings.Split(page, `<span class="mark">`)[1:] {
					mark, _, _ := strings.Cut(part, "</span>")
					got = append(got, mark)
				}
				if diff := cmp.Diff(of.want, got); diff != "" {
					t.Errorf("marks at %s (-want +got):\n%s", address, diff)
				}
			}
		})
	}
}

func TestAgents_statesTheThresholdsOfItsMarks(t *testing.T) {
	page := visit(t, web.Options{Agents: someAgents()}, "/agents").Body.String()
	want := fmt.Sprintf("from %d verdicts on: when it never rejects; when it decides in under 1 min on average; when %d&nbsp;%% or more", task.MarkFrom, task.OneProverPercent)
	if !strings.Contains(strings.ReplaceAll(page, "\u00a0", "&nbsp;"), want) {
		t.Errorf("the page does not say %q", want)
	}
}

func TestAgents_asksForAsManyAsAreShown(t *testing.T) {
	for address, want := range map[string]task.AgentQuery{
		"/agents":                       {Order: new("verdicts"), Limit: new(50)},
		"/agents?order=":                {Order: new("verdicts"), Limit: new(50)},
		"/agents?order=name":            {Order: new("name"), Limit: new(50)},
		"/agents?cursor=abc":            {Order: new("verdicts"), Limit: new(50), Cursor: new("abc")},
		"/agents?order=name&cursor=abc": {Order: new("name"), Limit: new(50), Cursor: new("abc")},
	} {
		counts := &countDouble{}
		visit(t, web.Options{Agents: counts}, address)
		if diff := cmp.Diff(want, counts.asked); diff != "" {
			t.Errorf("GET %s asks (-want +got):\n%s", address, diff)
		}
	}
}

func TestAgents_leadsOnWhileThereAreVerdicts(t *testing.T) {
	gave, idle := verifier("judge", time.Hour, task.PairTally{Prover: "codex-1", Verified: 1}), verifier("planner", 0)
	const next, nobody = `href="/agents?cursor=next" rel="next">`, "No other agent has given a verdict."
	for name, of := range map[string]struct {
		agents      []task.AgentView
		address     string
		leads, ends bool
	}{
		"all gave some":             {[]task.AgentView{gave, gave}, "/agents", true, false},
		"the last gave none":        {[]task.AgentView{gave, idle}, "/agents", false, false},
		"none of a later page did":  {[]task.AgentView{idle, idle}, "/agents?cursor=before", false, true},
		"nobody is on a later page": {nil, "/agents?cursor=before", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			counts := counting(of.agents...)
			if counts.page.NextCursor = "next"; of.agents == nil {
				counts.page.NextCursor = ""
			}
			page := visit(t, web.Options{Agents: counts}, of.address).Body.String()
			if leads, ends := strings.Contains(page, next), strings.Contains(page, nobody); leads != of.leads || ends != of.ends {
				t.Errorf("it leads on: %v, and says that it ends: %v:\n%s", leads, ends, mainOf(t, page))
			}
		})
	}
}

func TestAgents_saysHowOldTheCountIs(t *testing.T) {
	for age, want := range map[time.Duration]string{
		0: ">0 s</time> ago; what came later is not in it.</p>", web.StaleCount - time.Millisecond: ">29 s</time> ago; what came later is not in it.</p>",
		web.StaleCount: "<b class=\"warn\">That is old:</b>", time.Hour: ">1 h</time> ago",
	} {
		counts := someAgents()
		counts.page.RolledUpAt = new(before(age))
		if page := visit(t, web.Options{Agents: counts}, "/agents").Body.String(); !strings.Contains(page, want) {
			t.Errorf("a count %s old is not told with %q", age, want)
		}
	}
	if page := visit(t, web.Options{Agents: &countDouble{}}, "/agents").Body.String(); !strings.Contains(page, "Nothing was counted yet") {
		t.Error("that nothing was counted yet is not told")
	}
}

func TestAgents_tellsOfFaultsOnTheirPage(t *testing.T) {
	for address, of := range map[string]struct {
		err  error
		want int
	}{
		"/agents":            {task.Unavailable(nil), http.StatusServiceUnavailable},
		"/agents?order=fair": {task.InvalidArgument("order", "is wrong"), http.StatusBadRequest},
		"/agents?order=name": {errors.New("lost"), http.StatusInternalServerError},
		"/agents/nobody":     {nil, http.StatusNotFound},
	} {
		if answer := visit(t, web.Options{Agents: &countDouble{err: of.err}}, address); answer.Code != of.want {
			t.Errorf("GET %s = %d, want %d", address, answer.Code, of.want)
		}
	}
}

func TestAgents_waitsForTheCountBeforeItIsReadAnew(t *testing.T) {
	options := web.Options{Tasks: wholeTask(task.Claimed), Agents: someAgents()}
	for address, want := range map[string]bool{"/agents": true, "/agents/claude-2": true, "/tasks": false, "/tasks/x": false} {
		if got := strings.Contains(visit(t, options, address).Body.String(), ` data-gather="6000">`); got != want {
			t.Errorf("%s waits for the count: %v", address, got)
		}
	}
}
