package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/task"
)

// drawText draws a text of any length up to what the gate lets in, often of all
// of it, of characters that JSON writes in one to six bytes.
func drawText(t *rapid.T, label string, bytes int) string {
	unit := rapid.SampledFrom([]string{"a", "é", "€", "😀", "<", "\"", "\\", "\n", "\x01", "\u2028", "a\x02€"}).Draw(t, label+" unit")
	tail := rapid.SampledFrom([]string{"", "x", "😀", "\x1f"}).Draw(t, label+" tail")
	count := rapid.OneOf(rapid.Just(bytes/len(unit)), rapid.IntRange(0, bytes/len(unit))).Draw(t, label+" count")
	return strings.Repeat(unit, count) + tail
}

func drawTask(t *rapid.T) task.Task {
	whole := task.Task{
		TaskID: "0197b3b0-0000-7000-8000-000000000000", Title: drawText(t, "title", task.MaxTitle), Status: task.Rejected,
		Evidence: drawText(t, "evidence", task.MaxEvidence), Notes: drawText(t, "notes", task.MaxNotes),
		History: make([]task.Change, 3),
	}
	left := task.MaxCriteriaBytes
	for range rapid.IntRange(1, task.MaxCriteria).Draw(t, "criteria") {
		criterion := drawText(t, "criterion", min(task.MaxCriterion, left))
		left = max(left-len(criterion), 1)
		whole.AcceptanceCriteria = append(whole.AcceptanceCriteria, criterion)
	}
	return whole
}

func textsOf(t task.Task) map[string]string {
	all := map[string]string{"evidence": t.Evidence, "notes": t.Notes}
	for i, criterion := range t.AcceptanceCriteria {
		all[criterionName(i)] = criterion
	}
	return all
}

func TestFit_keepsAnyTaskUnderTheLimitAndNamesWhatItCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := drawTask(t)
		before, criteria := textsOf(whole), slices.Clone(whole.AcceptanceCriteria)
		cut := fitTask(whole, maxResultBytes)

		sent, err := json.Marshal(cut)
		if err != nil {
			t.Fatal(err)
		}
		if len(sent) > maxResultBytes {
			t.Fatalf("%d bytes", len(sent))
		}
		if !slices.Equal(criteria, whole.AcceptanceCriteria) {
			t.Fatal("the task that was given was changed")
		}
		shortest, longest := maxResultBytes, 0
		for name, text := range textsOf(cut) {
			length := len(escape(text))
			if !slices.Contains(cut.Truncated, name) {
				if text != before[name] {
					t.Fatalf("%s was changed and is not named", name)
				}
				longest = max(longest, length)
				continue
			}
			kept, ended := strings.CutSuffix(text, ellipsis)
			if !ended || !strings.HasPrefix(before[name], kept) || len(kept) >= len(before[name]) || !utf8.ValidString(kept) {
				t.Fatalf("%s was cut from %.40q to %.40q", name, before[name], text)
			}
			shortest = min(shortest, length)
		}
		// One character may take 12 bytes less than the level.
		if len(cut.Truncated) > 0 && longest > shortest+len(`\u0000\u0000`)+len(ellipsis) {
			t.Fatalf("a text of %d bytes was kept and one was cut to %d", longest, shortest)
		}
		if len(escape(whole)) <= maxResultBytes && len(cut.Truncated) > 0 {
			t.Fatal("a task that fits was cut")
		}
	})
}

func TestFit_wastesLittleOfTheLimit(t *testing.T) {
	whole := task.Task{AcceptanceCriteria: []string{"c"}, Evidence: strings.Repeat("\x01", task.MaxEvidence), Notes: strings.Repeat("n", task.MaxNotes)}
	cut := fitTask(whole, maxResultBytes)
	if size := len(escape(cut)); size < maxResultBytes-100 {
		t.Errorf("only %d of %d bytes are used", size, maxResultBytes)
	}
	if want := []string{"evidence"}; !slices.Equal(cut.Truncated, want) {
		t.Errorf("truncated %q, want %q", cut.Truncated, want)
	}
}
