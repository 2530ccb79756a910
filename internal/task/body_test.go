package task_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/task"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	firstID  task.ID = "0193a1b2-c3d4-7e5f-8a6b-0123456789ab"
	secondID task.ID = "0193a1b2-c3d5-7e5f-8a6b-0123456789ab"
)

// goldenRecords are transitions of every kind, as the record must hold them for
// ever.
func goldenRecords(t *testing.T) []task.Record {
	t.Helper()
	at := task.At(noon)
	session := task.Principal{Kind: "session", ID: "s \"1\""}
	plain := seal(t, task.NewTask{
		Record: task.Record{TaskID: firstID, Kind: task.KindCreated, Agent: "dev", Principal: session, At: at},
		Title:  "Add /healthz", Criteria: []string{"GET /healthz returns 200", "npm test passes"},
	})
	odd := seal(t, task.NewTask{
		Record: task.Record{TaskID: secondID, Kind: task.KindCreated, Agent: "rev", Principal: anybody.Principal, At: at + 1},
		Title:  "<b>\u20ac & \"é\"\\\t\r\n\u0007\u2028\u202e\U0001f600", Criteria: []string{"ü"}, Supersedes: firstID,
	})
	claim := sealRecord(t, task.Record{TaskID: firstID, Kind: task.KindClaimed, Agent: "dev", Principal: session, At: at + 2, Text: "curl -i says 200"})
	verified := sealRecord(t, task.Record{TaskID: firstID, Kind: task.KindVerified, Agent: "rev", Principal: anybody.Principal, At: at + 3})
	noted := sealRecord(t, task.Record{TaskID: firstID, Kind: task.KindVerified, Agent: "rev", Principal: anybody.Principal, At: at + 3, Text: "ran it"})
	rejected := sealRecord(t, task.Record{TaskID: firstID, Kind: task.KindRejected, Agent: "rev", Principal: anybody.Principal, At: at + 3, Text: "no test"})
	return []task.Record{plain.Record, odd.Record, claim, verified, noted, rejected}
}

func seal(t *testing.T, created task.NewTask) task.NewTask {
	t.Helper()
	sealed, err := created.Sealed()
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func sealRecord(t *testing.T, record task.Record) task.Record {
	t.Helper()
	sealed, err := record.Sealed()
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// Version 1 of the canonical body never changes. When this test fails, the code
// is wrong and not the file.
func TestSealed_writesVersionOneOfTheCanonicalBody(t *testing.T) {
	var got strings.Builder
	for _, record := range goldenRecords(t) {
		got.WriteString(record.Digest + " " + record.Body + "\n")
	}
	golden := filepath.Join("testdata", "bodies-v1.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("bodies (-want +got):\n%s", diff)
	}
}

func TestVerifyBody_takesEveryGoldenBody(t *testing.T) {
	for _, record := range goldenRecords(t) {
		if err := task.VerifyBody(record.Transition()); err != nil {
			t.Error(err)
		}
	}
}

func TestVerifyBody_refusesARowThatDiffersFromItsBody(t *testing.T) {
	for _, record := range goldenRecords(t) {
		good := record.Transition()
		for name, alter := range map[string]func(*task.Transition){
			"task":      func(t *task.Transition) { t.TaskID = unknownID },
			"number":    func(t *task.Transition) { t.Number++ },
			"kind":      func(t *task.Transition) { t.Kind = otherKind(t.Kind) },
			"from":      func(t *task.Transition) { t.From += "x" },
			"to":        func(t *task.Transition) { t.To += "x" },
			"agent":     func(t *task.Transition) { t.Agent += "x" },
			"principal": func(t *task.Transition) { t.Principal.ID += "x" },
			"time":      func(t *task.Transition) { t.At++ },
			"body":      func(t *task.Transition) { t.Body += " " },
			"digest":    func(t *task.Transition) { t.Digest = strings.ToUpper(t.Digest) },
		} {
			altered := good
			alter(&altered)
			if task.VerifyBody(altered) == nil {
				t.Errorf("%s transition with another %s is taken", record.Kind, name)
			}
		}
	}
}

func otherKind(kind task.Kind) task.Kind {
	if kind == task.KindVerified {
		return task.KindRejected
	}
	return task.KindVerified
}

func TestVerifyBody_refusesABodyOfAnotherForm(t *testing.T) {
	good := goldenRecords(t)[2].Transition()
	for name, body := range map[string]string{
		"spaces":           strings.Replace(good.Body, ",", ", ", 1),
		"another order":    `{"version":1,` + strings.TrimSuffix(strings.TrimPrefix(good.Body, "{"), `,"version":1}`) + "}",
		"unknown member":   strings.Replace(good.Body, `"version"`, `"unknown":1,"version"`, 1),
		"another version":  strings.Replace(good.Body, `"version":1`, `"version":2`, 1),
		"no evidence":      strings.Replace(good.Body, `"evidence_sha256"`, `"notes_sha256"`, 1),
		"trailing garbage": good.Body + "{}",
		"no JSON":          "claimed",
		"empty":            "",
	} {
		if body == good.Body {
			t.Fatalf("%s: the body was not altered", name)
		}
		altered := good
		altered.Body = body
		altered.Digest = sha256Hex(body)
		if task.VerifyBody(altered) == nil {
			t.Errorf("%s: the body %s is taken", name, body)
		}
	}
}

func TestSealed_refusesAKindThatHasNoSuchBody(t *testing.T) {
	for _, kind := range []task.Kind{task.KindCreated, "", "annulled"} {
		if _, err := (task.Record{TaskID: firstID, Kind: kind}).Sealed(); err == nil {
			t.Errorf("a record of kind %q is sealed without criteria", kind)
		}
	}
}

// Whatever the title is, its body is canonical, keeps it, and is bound to it.
func TestSealed_isCanonicalForAnyTitle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		title := rapid.StringN(1, 60, -1).Draw(t, "title")
		created, err := task.NewTask{
			Record: task.Record{TaskID: firstID, Kind: task.KindCreated, Agent: "dev", At: 1}, Title: title, Criteria: []string{"y"},
		}.Sealed()
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := jcs.Transform([]byte(created.Body))
		if err != nil || string(canonical) != created.Body {
			t.Fatalf("%s is not canonical (%v)", created.Body, err)
		}
		var read struct {
			Title string `json:"title"`
		}
		if err := json.Unmarshal([]byte(created.Body), &read); err != nil || read.Title != title {
			t.Fatalf("the title %q is recorded as %q (%v)", title, read.Title, err)
		}
		if err := task.VerifyBody(created.Transition()); err != nil {
			t.Fatal(err)
		}
	})
}
