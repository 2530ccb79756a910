package registry_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestJudgeTest_holdsOnlyFor2xxAndOkExactlyTrue(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status int
		body   string
		cause  registry.Cause
		detail string
	}{
		{200, `{"ok":true,"detail":"all required tools executable"}`, "", "all required tools executable"},
		{200, `{"ok":true}`, "", "status 200"},
		{204, ` { "ok" : true } ` + "\n", "", "status 204"},
		{200, `{"ok":true,"detail":""}`, "", "status 200"},
		{200, `{"ok":true,"detail":7}`, "", "status 200"},
		{200, `{"ok":false,"detail":"nmap is gone"}`, registry.NotOK, "nmap is gone"},
		{503, `{"ok":false,"detail":"nmap is gone"}`, registry.NotOK, "nmap is gone"},
		{500, `{"ok":false}`, registry.NotOK, "status 500"},
		{503, `{"ok":true}`, registry.HTTPStatus, "status 503"},
		{503, `gone`, registry.HTTPStatus, "status 503"},
		{404, `{"ok":false}`, registry.HTTPStatus, "status 404"},
		{404, `{"detail":"Not Found"}`, registry.HTTPStatus, "Not Found"},
		{200, `{"ok":"true"}`, registry.WrongShape, "status 200"},
		{200, `{"ok":1}`, registry.WrongShape, "status 200"},
		{200, `{"ok":null}`, registry.WrongShape, "status 200"},
		{200, `{"OK":true}`, registry.WrongShape, "status 200"},
		{200, `{"Ok":true,"ok":false}`, registry.NotOK, "status 200"},
		{200, `{"ok":false,"ok":true}`, registry.WrongShape, "status 200"},
		{200, `{"ok":true,"ok":true}`, registry.WrongShape, "status 200"},
		{200, `{"ok":true,"note":1,"note":2}`, "", "status 200"},
		{200, `{"tools":{"a":{"ok":true}}}`, registry.WrongShape, "status 200"},
		{200, `[{"ok":true}]`, registry.WrongShape, "status 200"},
		{200, `true`, registry.WrongShape, "status 200"},
		{200, `{}`, registry.WrongShape, "status 200"},
		{200, ``, registry.NotJSON, "status 200"},
		{200, `<html>"ok":true</html>`, registry.NotJSON, "status 200"},
		{200, `{"ok":true} trailing`, registry.NotJSON, "status 200"},
		{200, `{"ok":true}{"ok":true}`, registry.NotJSON, "status 200"},
		{200, "\ufeff" + `{"ok":true}`, registry.NotJSON, "status 200"},
		{200, "{\"ok\":true,\"detail\":\"\xff\"}", registry.NotJSON, "status 200"},
		{200, `{"ok":true,}`, registry.NotJSON, "status 200"},
		{401, `{"ok":true}`, registry.Auth, "status 401"},
		{403, `{"ok":false}`, registry.Forbidden, "status 403"},
		{429, `{"ok":false}`, registry.RateLimited, "status 429"},
		{302, `{"ok":true}`, registry.Redirect, "status 302"},
	} {
		t.Run(fmt.Sprintf("%d %q", row.status, row.body), func(t *testing.T) {
			t.Parallel()
			got := registry.JudgeTest(row.status, []byte(row.body))
			if got.Cause != row.cause || got.Detail != row.detail {
				t.Errorf("got cause %q, detail %q, want %q, %q", got.Cause, got.Detail, row.cause, row.detail)
			}
		})
	}
}

func TestJudgeTest_keepsDependenciesAlsoWhenTheGateFails(t *testing.T) {
	t.Parallel()
	got := registry.JudgeTest(503, []byte(`{"ok":false,"tools":{"nmap":{ "executable": false }, "curl":{"executable":true}}}`))
	want := map[string]json.RawMessage{
		"nmap": json.RawMessage(`{"executable":false}`), "curl": json.RawMessage(`{"executable":true}`),
	}
	if diff := cmp.Diff(want, got.Dependencies); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
}

func TestJudgeTest_capsDependencies(t *testing.T) {
	t.Parallel()
	tools := map[string]string{"huge": strings.Repeat("x", registry.MaxDependencyBytes)}
	for i := range registry.MaxDependencies + 50 {
		tools[fmt.Sprintf("tool-%04d", i)] = "ok"
	}
	body, err := json.Marshal(map[string]any{"ok": true, "tools": tools})
	if err != nil {
		t.Fatal(err)
	}
	got := registry.JudgeTest(200, body)
	if len(got.Dependencies) != registry.MaxDependencies || got.Dependencies["huge"] != nil {
		t.Errorf("kept %d dependencies, huge one %v; want %d without it",
			len(got.Dependencies), got.Dependencies["huge"] != nil, registry.MaxDependencies)
	}
	if len(got.Warnings) != 1 || got.Cause != "" {
		t.Errorf("got warnings %q and cause %q, want one warning and none", got.Warnings, got.Cause)
	}
	if odd := registry.JudgeTest(200, []byte(`{"ok":true,"tools":["nmap"]}`)); len(odd.Warnings) != 1 || odd.Cause != "" {
		t.Errorf("a list of tools: got %+v, want a pass with a warning", odd)
	}
}

func TestShorten_keepsValidTextWithinTheLimit(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ text, want string }{
		{"short", "short"},
		{"exactly-10", "exactly-10"},
		{"eleven-chars", "eleven-..."},
		{"ααααααααα", "ααα..."},
		{"bad\xff", "bad\ufffd"},
	} {
		if got := registry.Shorten(row.text, 10); got != row.want || !utf8.ValidString(got) {
			t.Errorf("Shorten(%q) = %q, want %q", row.text, got, row.want)
		}
	}
}

func TestRefusal_isTheFirstWordThatGivesAReason(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"status":"down","detail":"no key"}`:        "no key",
		`{"status":"down","detail":" ","error":"x"}`: "x",
		`{"status":"down","error":{"code":1}}`:       "down",
		`{"ok":false}`:                               "",
		`{"detail":"a","detail":"b"}`:                "",
		`["down"]`:                                   "",
		`{"detail":"cut`:                             "",
		`down`:                                       "",
		"{\"detail\":\"\xff\"}":                      "",
		``:                                           "",
	} {
		if got := registry.Refusal([]byte(body)); got != want {
			t.Errorf("%q: got %q, want %q", body, got, want)
		}
	}
}
