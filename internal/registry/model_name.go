package registry

import (
	"regexp"
	"strings"
	"sync"
)

// release is what providers add to the name of a model when they say which
// release of it has answered: gpt-4o becomes gpt-4o-2024-08-06, gpt-4 gpt-4-0613,
// claude-sonnet-4 claude-sonnet-4-20250514, text-embedding-ada-002
// text-embedding-ada-002-v2.
var release = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|v\d+)$`) })

// dated ends the name of one release.
var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$`) })

// isSameModel reports whether the model that an answer states is the one asked
// for. Beside the same name, in any case of letters, that is:
//
//   - the name with a release behind it, but only when none was asked for: who
//     asks for one release and gets another gets another model;
//   - a name that ends in -latest, with a release instead;
//   - either name with the path of a provider before it (openai/gpt-4o), as
//     gateways add it and take it away;
//   - either name with the tag :latest behind it, which Ollama takes as read.
//
// An alias that a gateway resolves to an unlike name is another model.
func isSameModel(asked, stated string) bool {
	asked, stated = bareModel(asked), bareModel(stated)
	if asked == "" || stated == "" {
		return false
	}
	if isPathTo(asked, stated) {
		return true
	}
	if dated().MatchString(asked) {
		return false
	}
	family := strings.TrimSuffix(asked, "-latest")
	at := strings.LastIndex(stated, lastOf(family)+"-")
	if at < 0 {
		return false
	}
	end := at + len(lastOf(family))
	return release().MatchString(stated[end:]) && isPathTo(family, stated[:end])
}

func bareModel(name string) string {
	return strings.TrimSuffix(strings.ToLower(name), ":latest")
}

// isPathTo reports whether two names are the same but for a path before one.
func isPathTo(a, b string) bool {
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}

// lastOf is a name without the path before it.
func lastOf(name string) string { return name[strings.LastIndex(name, "/")+1:] }
