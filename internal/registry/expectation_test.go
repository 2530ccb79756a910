package registry_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestJudge_holdsAResultToWhatIsExpected(t *testing.T) {
	t.Parallel()
	text := func(of string) string {
		quoted, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`
	}
	notEmpty := registry.Expectation{}
	srv := registry.Expectation{Matches: regexp.MustCompile(`^/srv$`)}
	three := registry.Expectation{Path: "$.n", Equals: json.RawMessage(`3`)}
	big := registry.Expectation{Path: "$.n", Equals: json.RawMessage(`9007199254740993`)}
	object := registry.Expectation{Path: "$", Equals: json.RawMessage(`{"a":[1,{"b":null}],"c":-0}`)}
	two := registry.Expectation{Path: "$.items[*].id", MinCount: 2}
	rows := []struct {
		name   string
		expect registry.Expectation
		result string
		wrong  string // part of the error; empty when it holds
	}{
		{"text", notEmpty, text("yes"), ""},
		{"picture", notEmpty, `{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"}]}`, ""},
		{"resource", notEmpty, `{"content":[{"type":"resource","resource":{"uri":"x:y","text":"hi"}}]}`, ""},
		{"link", notEmpty, `{"content":[{"type":"resource_link","uri":"x:y","name":"y"}]}`, ""},
		{"structured content alone", notEmpty, `{"structuredContent":{"a":1}}`, ""},
		{"no content", notEmpty, `{"content":[]}`, "neither text nor data"},
		{"nothing at all", notEmpty, `{}`, "neither text nor data"},
		{"empty text", notEmpty, text(" \n"), "neither text nor data"},
		{"empty structured content", notEmpty, `{"content":[],"structuredContent":{}}`, "neither text nor data"},
		{"names in capitals", notEmpty, `{"Content":[{"Type":"text","Text":"yes"}]}`, "neither text nor data"},
		{"error", notEmpty, `{"content":[{"type":"text","text":"no key"}],"isError":true}`, "the tool reports an error: no key"},
		{"error that matches", srv, `{"content":[{"type":"text","text":"/srv"}],"isError":true}`, "reports an error"},
		{"input wanted", notEmpty, `{"resultType":"input_required","content":[{"type":"text","text":"x"}]}`, `of the type "input_required"`},
		{"no object", notEmpty, `[]`, "no JSON object"},
		{"null", notEmpty, `null`, "no JSON object"},
		{"content that is none", notEmpty, `{"content":"yes"}`, "no list of objects"},
		{"match", srv, text("/srv"), ""},
		{"no match", srv, text("/srv/more"), "does not match ^/srv$: /srv/more"},
		{"equal by text", three, text(`{"n":3.0}`), ""},
		{"equal by structure", three, `{"content":[{"type":"text","text":"{\"n\":4}"}],"structuredContent":{"n":3}}`, ""},
		{"unequal", three, text(`{"n":"3"}`), `selects "3", expected is 3`},
		{"nothing selected", three, text(`{"m":3}`), "selects 0 values"},
		{"no JSON", three, text(`n: 3`), "is no JSON"},
		{"two JSON values", three, text(`{"n":3} {"n":3}`), "is no JSON"},
		{"large number", big, text(`{"n":9007199254740993}`), ""},
		{"number that only rounds to it", big, text(`{"n":9007199254740992}`), "expected is"},
		{"number that never ends", big, text(`{"n":1e999999999}`), "expected is"},
		{"whole object", object, text(`{"c":0,"a":[1.0,{"b":null}]}`), ""},
		{"other order of a list", object, text(`{"c":0,"a":[{"b":null},1]}`), "expected is"},
		{"member more", object, text(`{"c":0,"a":[1,{"b":null}],"d":1}`), "expected is"},
		{"enough", two, text(`{"items":[{"id":1},{"id":1}]}`), ""},
		{"too few", two, text(`{"items":[{"id":1},{}]}`), "selects 1 value, at least 2"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			err := row.expect.Judge(json.RawMessage(row.result))
			if row.wrong == "" && err != nil || row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)) {
				t.Errorf("Judge(%s) = %v, want %q", row.result, err, row.wrong)
			}
		})
	}
}

func TestJudge_quotesWithinBounds(t *testing.T) {
	t.Parallel()
	long := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20) + `"}],"isError":true}`
	if err := (registry.Expectation{}).Judge(json.RawMessage(long)); err == nil || len(err.Error()) > registry.MaxDetail {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}
