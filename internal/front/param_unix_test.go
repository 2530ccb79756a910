//go:build unix

package front

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

func TestFront_holdsArgumentsToTheHeadersThatRepeatThem(t *testing.T) {
	t.Parallel()
	f := begin(t, "server")
	call := func(arguments string, header ...string) answer {
		return f.askModern(t, "tools/call", `"name":"count","arguments":`+arguments+`,`, append([]string{"Mcp-Name", "count"}, header...)...)
	}
	if got := call(`{"region":"eu"}`); got.status != http.StatusOK {
		t.Errorf("before any list the call = %d %s", got.status, got.messages)
	}
	f.askModern(t, "tools/list", `"cursor":"2",`)
	const region, deep, sure = "Mcp-Param-Region", "Mcp-Param-Deep", "Mcp-Param-Sure"
	umlaut := "=?base64?" + base64.StdEncoding.EncodeToString([]byte("münchen")) + "?="
	rows := []struct {
		arguments string
		header    []string
		fits      bool
	}{
		{`{}`, nil, true},
		{`{"region":null}`, nil, true},
		{`{"region":"eu"}`, []string{region, "eu"}, true},
		{`{"region":"münchen"}`, []string{region, umlaut}, true},
		{`{"region":"eu","in":{"deep":42,"sure":true}}`, []string{region, "eu", deep, "42", sure, "true"}, true},
		{`{"in":{"deep":42.0}}`, []string{deep, "42"}, true},
		{`{"region":"eu"}`, nil, false},
		{`{"region":"eu"}`, []string{region, "us"}, false},
		{`{"region":"eu"}`, []string{region, "=?base64?*?="}, false},
		{`{}`, []string{region, "eu"}, false},
		{`{"region":null}`, []string{region, "eu"}, false},
		{`{"in":{"deep":42}}`, []string{deep, "43"}, false},
		{`{"in":{"deep":42}}`, []string{deep, "many"}, false},
		{`{"in":{"sure":true}}`, []string{sure, "True"}, false},
		{`{"in":{"deep":[42]}}`, []string{deep, "42"}, false},
		{`{"in":5}`, []string{deep, "5"}, false},
	}
	for _, row := range rows {
		got := call(row.arguments, row.header...)
		problem := got.final(t).Error
		if fits := problem == nil && got.status == http.StatusOK; fits != row.fits || !fits && (problem == nil || problem.Code != codeHeaderMismatch) {
			t.Errorf("%s with %q = %d %s", row.arguments, row.header, got.status, got.messages)
		}
	}
	legacy := f.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"region":"eu"}}}`)
	if legacy.final(t).Error != nil {
		t.Errorf("a legacy client is held to headers that it does not know: %s", legacy.messages)
	}
}

func TestLearn_keepsWhatIsBoundAndForgetsWhatIsNotAnyMore(t *testing.T) {
	t.Parallel()
	c := newChild(nil, nil, nil)
	const bound = `{"tools":[{"name":"a","inputSchema":{"properties":{"x":{"x-mcp-header":"X"}}}}]}`
	for _, list := range []string{`5`, `{"tools":5}`, `{"tools":[{"name":"a","inputSchema":5}]}`, `{"tools":[{"name":"a","inputSchema":{"properties":[],"x-mcp-header":"X"}}]}`} {
		c.learn(json.RawMessage(list))
		if found := c.bindingsOf("a"); found != nil {
			t.Errorf("%s binds %v", list, found)
		}
	}
	c.learn(json.RawMessage(bound))
	if found := c.bindingsOf("a"); len(found) != 1 || found[0].header != "X" || !slices.Equal(found[0].path, []string{"x"}) {
		t.Errorf("bound: %v", found)
	}
	c.learn(json.RawMessage(`{"tools":[{"name":"a","inputSchema":{}}]}`))
	if found := c.bindingsOf("a"); found != nil {
		t.Errorf("still bound: %v", found)
	}
}
