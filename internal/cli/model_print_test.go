package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestExamination_ofAModelIsShown(t *testing.T) {
	t.Parallel()
	answer, total := 42, 26
	passed := &registry.ModelResult{
		Target: "writer", Provider: registry.ProviderOpenAI, Mode: registry.ModeChat, Model: "gpt-x", StatedModel: "gpt-x-2026-11-01",
		ProbedAt: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Invoke: registry.Pass(420*time.Millisecond, "17 + 25 = 42; 24 tokens in, 2 out"),
		Requests: 2, Timings: registry.Phases{ConnectMs: 0.5, FirstByteMs: 400, TotalMs: 419},
		Tokens: registry.Tokens{Input: 24, Output: 2, Total: &total}, Content: []registry.Content{registry.ContentText},
		Sum: &registry.Sum{Left: 17, Right: 25, Answer: &answer},
	}
	spent := *passed
	spent.Invoke = registry.Fail(0, registry.Budget, "of the 200 tokens for a day (UTC) fewer than the 128 are left that a request is taken to need")
	spent.StatedModel, spent.Requests, spent.Tokens, spent.Timings = "", 0, registry.Tokens{}, registry.Phases{}
	other := *passed
	other.Invoke = registry.Fail(420*time.Millisecond, registry.WrongModel, "the answer comes from gpt-y\x1b[2J")
	other.StatedModel, other.Requests, other.Warnings = "gpt-y\x1b[2J", 1, []string{"odd"}
	for want, result := range map[string]*registry.ModelResult{
		`writer  passed

  invoke      ok        420.0 ms   17 + 25 = 42; 24 tokens in, 2 out

  model       gpt-x, states gpt-x-2026-11-01 (openai, chat)
  tokens      24 in, 2 out, 26 in all
  requests    2
  phases      connect 0.5 ms, first byte 400.0 ms, whole 419.0 ms
  probed at   2026-11-30 12:00:00 UTC
`: passed,
		`writer  undecided

  invoke      undecided        0.0 ms   budget: of the 200 tokens for a day (UTC) fewer than the 128 are left that a request is taken to need

  hint        The day's budget of tokens is spent, so the model was not asked.
              Wait for the next day in UTC, raise daily_token_budget, or probe
              less often.

  model       gpt-x (openai, chat)
  requests    0
  probed at   2026-11-30 12:00:00 UTC
`: &spent,
		`writer  FAILED

  invoke      FAIL      420.0 ms   wrong_model: the answer comes from gpt-y\u001b[2J

  hint        The answer comes from another model than the one asked for. Look
              for a fallback or an alias in front of the model; name the model
              that is meant.

  model       gpt-x, states gpt-y\u001b[2J (openai, chat)
  tokens      24 in, 2 out, 26 in all
  phases      connect 0.5 ms, first byte 400.0 ms, whole 419.0 ms
  warning     odd
  probed at   2026-11-30 12:00:00 UTC
`: &other,
	} {
		found := &registry.Examination{Passed: result.Passed()}
		found.Name = "writer"
		got := examinationText(found, result, nil, "", painter{})
		if diff := cmp.Diff(want, strings.ReplaceAll(got, "\x1b", "ESC")); diff != "" {
			t.Errorf("shown (-want +got):\n%s", diff)
		}
	}
}
