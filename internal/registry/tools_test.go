package registry_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/countersign-dev/countersign/internal/registry"
)

// document draws a JSON value whose objects have distinct keys.
func document(t *rapid.T, depth int) any {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"", "x", "a b", "ü", "\"", "\u2028", "\\n"}).Draw(t, "text")
	case 1:
		return rapid.IntRange(-1000, 1000).Draw(t, "number")
	case 2:
		return rapid.Bool().Draw(t, "truth")
	case 3:
		return nil
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, document(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for i := range rapid.IntRange(0, 4).Draw(t, "members") {
		object[fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"k", "É", "_"}).Draw(t, "key"), i)] = document(t, depth-1)
	}
	return object
}

// spelled writes a value with keys, white space, escapes and numbers in a form
// that is drawn.
func spelled(t *rapid.T, value any) string {
	space := rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space")
	switch value := value.(type) {
	case map[string]any:
		var members []string
		for key, member := range value {
			members = append(members, text(t, key)+space+":"+space+spelled(t, member))
		}
		slices.Sort(members)
		shuffle := rapid.Permutation(members).Draw(t, "order")
		return "{" + space + strings.Join(shuffle, space+",") + space + "}"
	case []any:
		var elements []string
		for _, element := range value {
			elements = append(elements, spelled(t, element))
		}
		return "[" + space + strings.Join(elements, ","+space) + "]"
	case string:
		return text(t, value)
	case int:
		return rapid.SampledFrom([]string{fmt.Sprint(value), fmt.Sprintf("%d.0", value), fmt.Sprintf("%de0", value)}).Draw(t, "form")
	}
	plain, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

func text(t *rapid.T, value string) string {
	if !rapid.Bool().Draw(t, "escaped") {
		plain, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(plain)
	}
	var out strings.Builder
	for _, r := range value {
		fmt.Fprintf(&out, `\u%04x`, r)
	}
	return `"` + out.String() + `"`
}

// abstract is a tool before it is written down.
type abstract map[string]any

func (a abstract) written(t *rapid.T) registry.Tool {
	part := func(name string) json.RawMessage {
		if value, present := a[name]; present {
			return json.RawMessage(spelled(t, value))
		}
		return nil
	}
	return registry.Tool{
		Name: a["name"].(string), Description: part("description"), InputSchema: part("inputSchema"),
		OutputSchema: part("outputSchema"), DestructiveHint: part("destructiveHint"),
	}
}

func drawn(t *rapid.T) []abstract {
	var tools []abstract
	for i := range rapid.IntRange(0, 5).Draw(t, "tools") {
		tool := abstract{"name": fmt.Sprintf("tool %d", i), "inputSchema": document(t, 3)}
		for _, name := range []string{"description", "outputSchema", "destructiveHint"} {
			if rapid.Bool().Draw(t, "has "+name) {
				tool[name] = document(t, 1)
			}
		}
		tools = append(tools, tool)
	}
	return tools
}

func written(t *rapid.T, tools []abstract) []registry.Tool {
	list := make([]registry.Tool, len(tools))
	for i, tool := range tools {
		list[i] = tool.written(t)
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func digestOf(t *rapid.T, tools []registry.Tool) string {
	digest, err := registry.ToolsDigest(tools)
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestDrift_isBlindToHowTheToolsAreWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tools := drawn(t)
		first, second := written(t, tools), written(t, tools)
		if drift := registry.DriftOf(first, second); !drift.IsZero() {
			t.Fatalf("drift %+v between two spellings of the same tools", drift)
		}
		if digestOf(t, first) != digestOf(t, second) {
			t.Fatal("two spellings of the same tools have two digests")
		}
	})
}

// TestDrift_seesEveryEdit makes one edit and expects exactly that edit, and
// another digest.
func TestDrift_seesEveryEdit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tools := append(drawn(t), abstract{"name": "edited", "inputSchema": map[string]any{"type": "object"}})
		before := written(t, tools)
		edited := slices.Clone(tools)
		last := len(edited) - 1
		fresh := abstract{"name": "edited", "inputSchema": map[string]any{"type": "object"}}
		var want registry.Drift
		what := rapid.SampledFrom([]string{"add", "remove", "rename", "description", "inputSchema", "outputSchema", "destructiveHint"}).Draw(t, "edit")
		switch what {
		case "add":
			edited = append(edited, abstract{"name": "new", "inputSchema": nil})
			want.Added = []string{"new"}
		case "remove":
			edited = edited[:last]
			want.Removed = []string{"edited"}
		case "rename":
			fresh["name"], edited[last] = "renamed", fresh
			want = registry.Drift{Added: []string{"renamed"}, Removed: []string{"edited"}}
		default:
			fresh[what] = map[string]any{"type": "object", "x": document(t, 2)}
			edited[last] = fresh
			want.Changed = []registry.ToolChange{{Name: "edited", What: []string{what}}}
		}
		after := written(t, edited)
		if diff := cmp.Diff(want, named(registry.DriftOf(before, after))); diff != "" {
			t.Fatalf("drift (-want +got):\n%s", diff)
		}
		if digestOf(t, before) == digestOf(t, after) && len(edited) > 0 {
			t.Fatalf("the edit %s does not change the digest", what)
		}
	})
}

func TestLikelyCanary_isAHarmlessToolWithoutArguments(t *testing.T) {
	t.Parallel()
	object := json.RawMessage(`{"type":"object"}`)
	for name, row := range map[string]struct {
		tools []registry.Tool
		want  string
	}{
		"none":                 {nil, ""},
		"not marked":           {[]registry.Tool{{Name: "a", InputSchema: object}}, ""},
		"marked":               {[]registry.Tool{{Name: "a", InputSchema: object, ReadOnly: true}}, "a"},
		"marked both ways":     {[]registry.Tool{{Name: "a", InputSchema: object, ReadOnly: true, DestructiveHint: json.RawMessage("true")}}, ""},
		"wants an argument":    {[]registry.Tool{{Name: "a", InputSchema: json.RawMessage(`{"required":["x"]}`), ReadOnly: true}}, ""},
		"has no schema":        {[]registry.Tool{{Name: "a", ReadOnly: true}}, ""},
		"may tell secrets":     {[]registry.Tool{{Name: "get-env", InputSchema: object, ReadOnly: true}}, ""},
		"has a hostile name":   {[]registry.Tool{{Name: "a;reboot", InputSchema: object, ReadOnly: true}}, ""},
		"the first of several": {[]registry.Tool{{Name: "b", InputSchema: object, ReadOnly: true}, {Name: "a", InputSchema: object, ReadOnly: true}}, "a"},
	} {
		if got := registry.LikelyCanary(row.tools); got != row.want {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
}
