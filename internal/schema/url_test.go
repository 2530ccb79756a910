package schema_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/schema"
	"github.com/countersign-dev/countersign/internal/task"
)

func TestDecodeURL_takesEachArgumentOnce(t *testing.T) {
	query, err := schema.ListTasks().DecodeURL(nil, "status=claimed&limit=20.0&created_by=%C3%A4+b")
	if err != nil || *query.Status != "claimed" || *query.Limit != 20 || *query.CreatedBy != "ä b" || query.Cursor != nil {
		t.Errorf("got %+v, %v", query, err)
	}
	results, err := schema.ListResults().DecodeURL(map[string]string{"name": "docs"}, "limit=1")
	if err != nil || results.Name != "docs" || *results.Limit != 1 {
		t.Errorf("got %+v, %v", results, err)
	}
}

func TestDecodeURL_refusesWhatIsNotListedAndNamesIt(t *testing.T) {
	long := strings.Repeat("x", 500)
	for query, want := range map[string]string{
		"Status=claimed":         "Status is no argument of list_tasks",
		"=1":                     `"" is no argument of list_tasks`,
		"limit=1&limit=1":        "limit is given twice",
		"limit=":                 "limit must be an integer",
		"limit=null":             "limit must be an integer",
		"limit=1.5":              "limit must be an integer",
		"limit=+1":               "limit must be an integer",
		"limit=0x10":             "limit must be an integer",
		"limit=01":               "limit must be an integer",
		"limit=1e400":            "limit must be an integer",
		"limit=9007199254740993": "limit must be an integer",
		"limit=NaN":              "limit must be an integer",
		"limit=%221%22":          "limit must be an integer",
		"limit=[1]":              "limit must be an integer",
		"limit=" + long:          "limit must be an integer, not " + long[:80] + "…",
		"status=%ff":             "status is not valid UTF-8",
		"%ff=1":                  "is no argument of list_tasks",
		"status=%zz":             "query cannot be read",
		"status=a;limit=1":       "query cannot be read",
		long + "=1":              long[:80] + "… is no argument of list_tasks",
	} {
		_, err := schema.ListTasks().DecodeURL(nil, query)
		coded, is := fault.Of(err)
		if !is || coded.Code != fault.InvalidArgument || coded.Details[fault.Field] == "" || !strings.Contains(coded.Message, want) {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
		if is && len(coded.Message) > 300 {
			t.Errorf("%.20s: a refusal of %d bytes", query, len(coded.Message))
		}
	}
}

func TestDecodeURL_takesNoArgumentOfThePathFromTheQuery(t *testing.T) {
	_, err := schema.ListResults().DecodeURL(map[string]string{"name": "docs"}, "name=other")
	if coded, is := fault.Of(err); !is || coded.Code != fault.InvalidArgument || strings.Contains(coded.Hint, "name,") {
		t.Errorf("got %v", err)
	}
	_, err = schema.GetResult().DecodeURL(map[string]string{"result_id": "x"}, "a=b")
	if coded, is := fault.Of(err); !is || coded.Hint != "get_result takes none." {
		t.Errorf("got %v", err)
	}
}

func TestDecodeBody_takesThePathAndTheRestFromTheBody(t *testing.T) {
	claim, err := schema.ClaimDone("").DecodeBody(map[string]string{"task_id": `a"b`}, []byte(` {"evidence":"e","agent_id":null} `))
	if err != nil || claim.TaskID != `a"b` || claim.Evidence != "e" || claim.AgentID != nil {
		t.Errorf("got %+v, %v", claim, err)
	}
	if probe, err := schema.ProbeComponent().DecodeBody(map[string]string{"name": "docs"}, nil); err != nil || probe.Name != "docs" {
		t.Errorf("got %+v, %v", probe, err)
	}
}

func TestDecodeBody_refusesWhatIsNotListedAndNamesIt(t *testing.T) {
	for body, want := range map[string]string{
		`{"task_id":"x"}`:                 "task_id is no argument of claim_done",
		`{"evidence":"a","evidence":"b"}`: "evidence is given twice",
		`{"evidence":1}`:                  "evidence must be a string, not a number",
		`{"evidence":"\ud800"}`:           "evidence holds half of a surrogate pair",
		"{\"evidence\":\"\xff\"}":         "body is not valid UTF-8",
		`{"evidence":"a"} {}`:             "body is not exactly one JSON value",
		`{"evidence":"a"`:                 "body is not exactly one JSON value",
		`[]`:                              "arguments must be a JSON object",
		`"x"`:                             "arguments must be a JSON object",
		strings.Repeat("[", 1_000_000):    "body is not exactly one JSON value",
		"\ufeff{}":                        "body is not exactly one JSON value",
		`{"Evidence":"a"}`:                "Evidence is no argument of claim_done",
	} {
		_, err := schema.ClaimDone("").DecodeBody(map[string]string{"task_id": "id"}, []byte(body))
		if coded, is := fault.Of(err); !is || coded.Code != fault.InvalidArgument || !strings.Contains(coded.Message, want) {
			t.Errorf("%.60q: %v, want %s", body, err, want)
		}
	}
	if _, err := schema.ClaimDone("").DecodeBody(map[string]string{"task_id": "\xff"}, nil); err == nil {
		t.Error("a path that is no UTF-8 is taken")
	}
}

func FuzzDecodeURL_takesOnlyWhatItUnderstandsWhole(f *testing.F) {
	for _, seed := range []string{
		"", "status=claimed&limit=20", "limit=2e1", "limit=-0", "limit=1&limit=2", "&&=", "a=%", "status=%00", "cursor=%ff", "limit= 1", "order=oldest;",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := schema.OrderTasks().DecodeURL(nil, raw)
		if err != nil {
			if coded, ok := fault.Of(err); !ok || coded.Code != fault.InvalidArgument || coded.Details[fault.Field] == "" {
				t.Fatalf("%v does not name an argument", err)
			}
			return
		}
		// What was taken says the same when it is written and read again.
		again, err := schema.OrderTasks().DecodeURL(nil, written(query).Encode())
		if err != nil || !bytes.Equal(encoded(t, query), encoded(t, again)) {
			t.Fatalf("%q was taken as %s, then as %s: %v", raw, encoded(t, query), encoded(t, again), err)
		}
	})
}

// written is a query as it is asked.
func written(q task.Query) url.Values {
	values := url.Values{}
	for name, value := range map[string]*string{
		"status": q.Status, "created_by": q.CreatedBy, "claimed_by": q.ClaimedBy, "verifiable_by": q.VerifiableBy,
		"supersedes": q.Supersedes, "cursor": q.Cursor, "order": q.Order,
	} {
		if value != nil {
			values.Set(name, *value)
		}
	}
	if q.Limit != nil {
		values.Set("limit", strconv.Itoa(*q.Limit))
	}
	return values
}

func FuzzDecodeBody_takesOnlyWhatItUnderstandsWhole(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `[]`, `{"verdict":"verified","notes":"n","verifier_agent_id":"a"}`, `{"verdict":null}`, `{"verdict":"\ud83d\ude00\\u"}`,
		`{"task_id":"x"}`, `{"notes":"a","notes":"b"}`, "{\"notes\":\"\xff\"}", `{"notes":"\ud800"}`, `{"":0}`, `{} x`,
	} {
		f.Add("id", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, id string, body []byte) {
		request, err := schema.Verify("").DecodeBody(map[string]string{"task_id": id}, body)
		if err != nil {
			if coded, ok := fault.Of(err); !ok || coded.Code != fault.InvalidArgument || coded.Details[fault.Field] == "" {
				t.Fatalf("%v does not name an argument", err)
			}
			return
		}
		if request.TaskID != id || !utf8.ValidString(request.TaskID+request.Notes+request.Verdict) {
			t.Fatalf("%q and %q were taken as %+v", id, body, request)
		}
		again, err := schema.Verify("").Decode(encoded(t, request))
		if err != nil || !bytes.Equal(encoded(t, request), encoded(t, again)) {
			t.Fatalf("%q was taken as %s, then as %s: %v", body, encoded(t, request), encoded(t, again), err)
		}
	})
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
