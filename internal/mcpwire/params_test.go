package mcpwire

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestAnnotations_areValidOnlyWhereAnArgumentIs(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 100) + `{"x-mcp-header":"R"}` + strings.Repeat(`}}`, 100)
	for name, row := range map[string]struct {
		schema string
		found  int
		wrong  string
	}{
		"none":                      {`{"type":"object","properties":{"a":{"type":"string"}}}`, 0, ""},
		"no schema":                 {``, 0, ""},
		"a boolean as schema":       {`true`, 0, ""},
		"one":                       {`{"properties":{"a":{"type":"string","x-mcp-header":"Region"}}}`, 1, ""},
		"nested":                    {`{"properties":{"a":{"properties":{"b":{"type":"integer","x-mcp-header":"N"}}}}}`, 1, ""},
		"a property of this name":   {`{"properties":{"x-mcp-header":{"type":"string"}}}`, 0, ""},
		"a value, not a schema":     {`{"properties":{"a":{"const":{"x-mcp-header":"Region"}}}}`, 0, ""},
		"boolean":                   {`{"properties":{"a":{"type":"boolean","x-mcp-header":"B"}}}`, 1, ""},
		"on an object":              {`{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`, 0, "no plain value"},
		"on an array":               {`{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}`, 0, "no plain value"},
		"on a number":               {`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, 0, "no plain value"},
		"without a type":            {`{"properties":{"a":{"x-mcp-header":"A"}}}`, 0, "no plain value"},
		"empty":                     {`{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, 0, "not a part of a header's name"},
		"a number":                  {`{"properties":{"a":{"type":"string","x-mcp-header":1}}}`, 0, "not a part of a header's name"},
		"with a space":              {`{"properties":{"a":{"type":"string","x-mcp-header":"My Region"}}}`, 0, "not a part of a header's name"},
		"with a colon":              {`{"properties":{"a":{"type":"string","x-mcp-header":"a:b"}}}`, 0, "not a part of a header's name"},
		"with a line break":         {`{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}`, 0, "not a part of a header's name"},
		"not ASCII":                 {`{"properties":{"a":{"type":"string","x-mcp-header":"Größe"}}}`, 0, "not a part of a header's name"},
		"twice":                     {`{"properties":{"a":{"type":"string","x-mcp-header":"R"},"b":{"type":"string","x-mcp-header":"r"}}}`, 0, "twice"},
		"at the root":               {`{"type":"string","x-mcp-header":"R"}`, 0, "where no argument is"},
		"below items":               {`{"properties":{"a":{"items":{"type":"string","x-mcp-header":"R"}}}}`, 0, "where no argument is"},
		"below items as a list":     {`{"properties":{"a":{"items":[{"type":"string","x-mcp-header":"R"}]}}}`, 0, "where no argument is"},
		"below anyOf":               {`{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"R"}}}]}`, 0, "where no argument is"},
		"below $defs":               {`{"$defs":{"a":{"type":"string","x-mcp-header":"R"}}}`, 0, "where no argument is"},
		"below additional":          {`{"additionalProperties":{"type":"string","x-mcp-header":"R"}}`, 0, "where no argument is"},
		"deeper than anyone writes": {deep, 0, "too deep"},
		"deep, and nothing marked":  {strings.ReplaceAll(deep, "x-mcp-header", "title"), 0, ""},
		"written with an escape":    {`{"properties":{"a":{"type":"string","x-mcp-he\u0061der":"R"}}}`, 1, ""},
	} {
		found, err := annotations(json.RawMessage(row.schema))
		switch {
		case row.wrong == "" && (err != nil || len(found) != row.found):
			t.Errorf("%s: got %v, %v, want %d", name, found, err, row.found)
		case row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)):
			t.Errorf("%s: got the error %v, want %q", name, err, row.wrong)
		}
	}
}

func TestParamHeaders_carryPlainValues(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"properties":{
		"text":{"type":"string","x-mcp-header":"Text"},
		"whole":{"type":"integer","x-mcp-header":"Whole"},
		"truth":{"type":"boolean","x-mcp-header":"Truth"},
		"in":{"properties":{"side":{"type":"string","x-mcp-header":"Side"}}}}}`)
	for arguments, want := range map[string]map[string]string{
		`{}`:                         {},
		`{"text":null,"whole":null}`: {},
		`{"text":"us-west1","whole":42.0,"truth":false,"in":{"side":"left"}}`: {
			"Mcp-Param-Text": "us-west1", "Mcp-Param-Whole": "42", "Mcp-Param-Truth": "false", "Mcp-Param-Side": "left",
		},
		`{"whole":9007199254740993}`: {"Mcp-Param-Whole": "9007199254740993"},
		`{"text":{"a":1},"in":7}`:    {},
	} {
		got, err := paramHeaders(schema, json.RawMessage(arguments))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
	}
}

func TestHeaderValue_isPlainOnlyWhenThatIsSafe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"us-west1":           "us-west1",
		"two words":          "two words",
		"":                   "",
		" edge":              "=?base64?IGVkZ2U=?=",
		"edge\t":             "=?base64?ZWRnZQk=?=",
		"Größe":              "=?base64?R3LDtsOfZQ==?=",
		"a\r\nX-Evil: 1":     "=?base64?YQ0KWC1FdmlsOiAx?=",
		"=?base64?R3I=?=":    "=?base64?PT9iYXNlNjQ/UjNJPT89?=",
		"=?base64? no end":   "=?base64? no end",
		"\x7f":               "=?base64?fw==?=",
		"a=?base64?R3I=?= b": "a=?base64?R3I=?= b",
	} {
		if got := headerValue(text); got != want {
			t.Errorf("%q travels as %q, want %q", text, got, want)
		}
	}
}

func TestEras_rememberNoMoreThanTheirBound(t *testing.T) {
	t.Parallel()
	eras := NewEras()
	found := way{registry.Legacy, registry.SSE}
	for i := range MaxEras + 100 {
		eras.remember(strconv.Itoa(i), found)
	}
	if last := strconv.Itoa(MaxEras + 99); len(eras.known) != MaxEras || eras.of(last) != found {
		t.Errorf("%d targets are known, of the last %v, want %d and %v", len(eras.known), eras.of(last), MaxEras, found)
	}
	eras.forget(strconv.Itoa(MaxEras + 99))
	if len(eras.known) != MaxEras-1 {
		t.Errorf("%d targets are known after one was forgotten", len(eras.known))
	}
}
