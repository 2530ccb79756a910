package patrol_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// lines returns the lines of the log about something. The patrol has ended.
func (s *scene) lines(about string) []string {
	var found []string
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, about) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

const changed = `msg="the status of a component has changed"`

// wantLines wants as many lines as there are lists of what each must hold.
func wantLines(t *testing.T, got []string, want ...[]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i, parts := range want {
		for _, part := range parts {
			if !strings.Contains(got[i], part) {
				t.Errorf("line %d holds no %s:\n%s", i, part, got[i])
			}
		}
	}
}

func TestLog_tellsEachChangeOfStatusOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		component := server("asm", 10*time.Second)
		component.Fall = 2
		x := newExaminer(t, component)
		s := patrols(t, newDatabase(), x, plenty())
		pass(time.Minute)
		x.answers(func(context.Context, *registry.Component) (registry.Summary, error) {
			found := failed()
			found.Reason = "refused: \x1b[2J\u202eevil " + strings.Repeat("é", registry.MaxDetail)
			return found, nil
		})
		pass(time.Minute)
		x.answers(func(context.Context, *registry.Component) (registry.Summary, error) { return passed(), nil })
		pass(time.Minute)
		s.stop()
		wantLines(t, s.lines(changed),
			[]string{"level=INFO", "component=asm", "from=probing", "to=available", "causes=[]"},
			[]string{"level=WARN", "component=asm", "from=available", "to=unavailable", "causes=[refused]", `refused: \x1b[2J\u202eevil`, "result=0x"},
			[]string{"level=INFO", "component=asm", "from=unavailable", "to=available"})
		if longest := len(s.lines(changed)[1]); longest > 2*registry.MaxDetail {
			t.Errorf("the line has %d bytes", longest)
		}
	})
}

func TestLog_tellsOfNoChangeWhenAStatusOnlyGrewOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		x := newExaminer(t, server("asm", 10*time.Second))
		first := patrols(t, on, x, plenty())
		pass(time.Minute)
		first.stop()
		pass(time.Hour)
		second := patrols(t, on, x, plenty())
		pass(time.Minute)
		second.stop()
		wantLines(t, second.lines(changed))
	})
}

// TestLog_tellsOnlyStatusesThatHeld has another process find a component available while
// the patrol is held up in a probe of it, which then comes to nothing.
func TestLog_tellsOnlyStatusesThatHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		component := server("asm", 10*time.Second)
		on, x := newDatabase(), newExaminer(t, component)
		x.answers(func(context.Context, *registry.Component) (registry.Summary, error) { return failed(), nil })
		s := patrols(t, on, x, plenty())
		pass(time.Minute)
		x.answers(func(ctx context.Context, _ *registry.Component) (registry.Summary, error) {
			began := time.Now()
			if err := wait(ctx, time.Second); err != nil {
				return registry.Summary{}, err
			}
			as := registrationOf(t, &component)
			found := passed()
			found.ProbedAt = time.Now()
			on.note(func() {
				record := registry.Record{ID: "elsewhere", Registration: as, Policy: component.Policy(), Summary: found}
				on.known[as], _ = on.known[as].After(record)
			})
			x.answers(func(context.Context, *registry.Component) (registry.Summary, error) { return passed(), nil })
			late := failed()
			late.ProbedAt, late.Outcome, late.Causes = began, registry.OutcomeUndecided, []registry.Cause{registry.Overloaded}
			return late, nil
		})
		pass(time.Minute)
		s.stop()
		wantLines(t, s.lines(changed),
			[]string{"from=probing", "to=unavailable"},
			[]string{"level=INFO", "from=unavailable", "to=available", "causes=[]", "result=elsewhere"})
	})
}

func TestLog_tellsOnceOfToolsThatAreAcceptedOrAreNotTheAcceptedOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newExaminer(t, server("asm", 10*time.Second), server("calm", 10*time.Second))
		lists := func(digest string) {
			x.answers(func(_ context.Context, component *registry.Component) (registry.Summary, error) {
				found := passed()
				if found.ToolsDigest = "first"; component.Name == "asm" {
					found.ToolsDigest = digest
				}
				return found, nil
			})
		}
		lists("first")
		on := newDatabase()
		s := patrols(t, on, x, plenty())
		pass(time.Minute)
		for _, digest := range []string{"second", "first", "second"} {
			lists(digest)
			pass(time.Minute)
		}
		lists("third")
		s.line.breaks(errCut)
		pass(5 * time.Second)
		s.line.breaks(nil)
		pass(time.Minute)
		s.stop()
		const drifted = `level=WARN msg="the tools of a component are not the accepted ones"`
		wantLines(t, s.lines(drifted), []string{"component=asm", "tools=second", "accepted=first"}, []string{"component=asm", "tools=third", "accepted=first"})
		const trusted = `level=INFO msg="tools accepted at first sight"`
		wantLines(t, slices.Sorted(slices.Values(s.lines(trusted))), []string{"component=asm", "digest=first"}, []string{"component=calm", "digest=first"})
		if asked := s.line.readings(); asked > 12 {
			t.Errorf("the store was asked %d times what it knows", asked)
		}
		again := patrols(t, on, x, plenty())
		pass(time.Minute)
		again.stop()
		wantLines(t, again.lines(drifted), []string{"tools=third"})
		wantLines(t, again.lines(trusted))
	})
}

func TestLog_saysWhoPatrolsAndWhoTakesOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		components := servers(2, 10*time.Second)
		first := patrols(t, on, newExaminer(t, components...), plenty())
		pass(time.Second)
		second := patrols(t, on, newExaminer(t, components...), plenty())
		pass(time.Minute)
		first.line.breaks(errCut)
		pass(takeover)
		first.stop()
		second.stop()
		wantLines(t, first.lines("patrols now"), []string{"level=INFO", "fence=1"})
		wantLines(t, second.lines("stands by"), []string{`level=INFO msg="another process patrols; this one stands by" holder="test `})
		wantLines(t, second.lines("patrols now"), []string{"level=INFO", "fence=2", `instead_of="test `})
	})
}
