package fault

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Hints tell agents which tools to call. Others call the same by other names: here is
// what stands before a tool that a text names.
func leads() []string { return []string{"call ", "calls ", "Call ", "from ", "or ", "as "} }

// Named words a text that names tools for those who do not call them: each tool is
// called by the name that names has for it, and verb ("call", "run") stands for "call".
// Of two that begin alike the longer one counts.
func Named(text, verb string, names map[string]string) string {
	tools := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	said := strings.NewReplacer("call", verb, "Call", strings.ToUpper(verb[:1])+verb[1:])
	var pairs []string
	for _, tool := range tools {
		for _, lead := range leads() {
			pairs = append(pairs, lead+tool, said.Replace(lead)+names[tool])
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
