package main

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/task"
)

// The bare side of a comparison is bare only while it runs what the store runs.
func TestStatements_areThoseOfTheStore(t *testing.T) {
	sources, err := filepath.Glob("../internal/store/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, statement := range []string{insertCriterion, insertCreation, insertTask, insertTransition, createTask} {
		if !strings.Contains(all.String(), "`"+statement+"`") {
			t.Errorf("internal/store has no statement\n%s", statement)
		}
	}
	if !strings.Contains(all.String(), `"`+lockClause+`"`) {
		t.Errorf("internal/store has no lock clause %q", lockClause)
	}
}

func TestSeries_ofNumbersKnownByHand(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"the median of three", series{9, 1, 4}.median(), 4},
		{"the median of four", series{9, 1, 4, 6}.median(), 5},
		{"p99 of a hundred", percentile(upTo(100), 0.99), 99},
		{"p50 of four", percentile(upTo(4), 0.5), 2},
		{"the longest", percentile(upTo(7), 1), 7},
		{"Jain of equals", jain([]float64{5, 5, 5, 5}), 1},
		{"Jain when one has all", jain([]float64{5, 0, 0, 0}), 0.25},
		{"a quotient by rounds", series{2, 9}.over(series{1, 3})[1], 3},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
	if !math.IsNaN(percentile(nil, 0.5)) || !math.IsNaN(series{}.median()) || !math.IsNaN(jain(nil)) {
		t.Error("no samples must give no number")
	}
}

func upTo(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i + 1)
	}
	return values
}

func TestReport_showsAMissedTargetWithItsCause(t *testing.T) {
	text := report(scene{}, []section{{title: "Part", method: "How.", ours: "a", beside: "b", figures: []figure{
		{name: "speed", ours: series{1, 2, 3}, beside: series{2, 2, 2}, value: series{0.5, 1, 1.5}, target: &target{atLeast, 2, "x"}, cause: "the disk."},
		{name: "size", unit: " MB", ours: series{20}, value: series{20}, target: &target{atMost, 25, " MB"}, cause: "never shown"},
		{name: "note", ours: series{7}},
	}}}, []string{"other"})
	for _, want := range []string{
		"1 of 2 targets are met. Missed: speed (Part).",
		"| speed | 2 (1–3) | 2 (2–2) | 1x (0.500–1.50) | at least 2x | **missed** |",
		"speed missed its target. The cause: the disk.",
		"| size | 20 MB | – | 20 MB | at most 25 MB | met |",
		"Not in this run: other.",
		"| note | 7 | – | – | – | – |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "never shown") {
		t.Errorf("the report tells the cause of a target that was met:\n%s", text)
	}
}

func TestFill_makesTheTasksThatTheQuestionsAskFor(t *testing.T) {
	l := &lab{directory: t.TempDir(), log: io.Discard, rounds: 1}
	of, err := l.openFilled(t.Context(), 2*fillBatch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := of.database.Close(); err != nil {
			t.Error(err)
		}
	})
	counts, err := of.database.Counts(t.Context(), task.MaxCount)
	if err != nil {
		t.Fatal(err)
	}
	want := task.Counts{Pending: 600, Claimed: 400, Verified: 800, Rejected: 200}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("counts of 2,000 tasks (-want +got):\n%s", diff)
	}
	for _, q := range questions() {
		for range 5 {
			if err := q.asked(t.Context(), of); err != nil {
				t.Fatalf("%s: %v", q.name, err)
			}
		}
	}
}

// Both sides of the comparison on SQLite must do the same work.
func TestDrive_leavesTheSameRecordOnBothSides(t *testing.T) {
	for name, bare := range map[string]bool{"store": false, "bare": true} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "tasks.db")
			if err := migrate(t.Context(), file); err != nil {
				t.Fatal(err)
			}
			to, done, err := openSQLite(t.Context(), file, bare)
			if err != nil {
				t.Fatal(err)
			}
			created := decideOne(t, to)
			if err := done(); err != nil {
				t.Fatal(err)
			}
			reading, done, err := openSQLite(t.Context(), file, false)
			if err != nil {
				t.Fatal(err)
			}
			found, err := reading.(stored).database.Task(t.Context(), created.TaskID)
			if err != nil {
				t.Fatal(err)
			}
			if found.Status != task.Verified || len(found.History) != 3 || len(found.AcceptanceCriteria) != len(created.Criteria) {
				t.Errorf("got %+v", found)
			}
			if err := done(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// decideOne takes one task through the gate.
func decideOne(t *testing.T, to writer) task.NewTask {
	t.Helper()
	by := agentsOf(1)
	created, err := newTask(by)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.create(t.Context(), created); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		kind  task.Kind
		agent task.AgentID
	}{{task.KindClaimed, by.prover}, {task.KindVerified, by.verifier}} {
		record, err := follow(created, step.kind, step.agent, evidence)
		if err != nil {
			t.Fatal(err)
		}
		if err := to.add(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	return created
}

// The stub must be what it claims to be before anything is measured against it.
func TestCountRequests_isWhatTheContractSays(t *testing.T) {
	figures, err := countRequests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(figures) != 7 {
		t.Errorf("got %d figures, want 7", len(figures))
	}
	for _, f := range figures {
		if got := f.value.median(); got != f.target.limit {
			t.Errorf("%s: got %v, want %v", f.name, got, f.target.limit)
		}
	}
}

func TestProber_probesRoundByRound(t *testing.T) {
	server := newStub(registry.Modern, false)
	defer server.Close()
	orders := strings.NewReader(`{"URL":"` + server.URL + `","Count":3,"AtOnce":2}` + "\n" + `{"URL":"` + server.URL + `","Count":1,"AtOnce":1}` + "\n")
	var answers strings.Builder
	if err := probeAsTold(t.Context(), orders, &answers); err != nil {
		t.Fatal(err)
	}
	const want = `{"Passed":3,"Failure":""}` + "\n" + `{"Passed":1,"Failure":""}` + "\n"
	if diff := cmp.Diff(want, answers.String()); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if got := server.requests.Load(); got != 16 {
		t.Errorf("4 probes made %d requests, want 16", got)
	}
}
