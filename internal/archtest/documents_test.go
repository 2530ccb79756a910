package archtest

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unsluggy   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	makeTarget = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	command    = regexp.MustCompile(`^(\$|countersign|go|make|npm|npx|curl|docker) `)
	makeUse    = regexp.MustCompile("(?m)(?:^|`|\\$ )make ([a-z-]+)")
)

// languages are those that a fenced block may have. A command stands in a
// console block, whose lines the tests of e2e run; shell scripts that nothing
// runs are not shown.
var languages = []string{"", "console", "console continued", "text", "json", "jsonc", "yaml", "toml", "go", "sql", "http", "diff", "dockerfile", "mermaid"}

// checkLinks wants every relative link of a document to lead somewhere.
func checkLinks(tr tree, name string) []string {
	var problems []string
	for _, match := range link.FindAllStringSubmatch(outsideFences(tr.texts[name]), -1) {
		target, anchor, _ := strings.Cut(match[1], "#")
		if strings.Contains(target, ":") {
			continue
		}
		full := name
		if target != "" {
			full = path.Join(path.Dir(name), target)
		}
		text, isFile := tr.texts[full]
		switch {
		case !isFile && !tr.others[full] && !tr.dirs[full]:
			problems = append(problems, fmt.Sprintf("%s links to %s, which does not exist", name, match[1]))
		case anchor != "" && strings.HasSuffix(full, ".md") && !slices.Contains(anchors(text), anchor):
			problems = append(problems, fmt.Sprintf("%s links to %s, which has no such heading", name, match[1]))
		}
	}
	return problems
}

// anchors gives the ids that a Markdown renderer gives to headings.
func anchors(text string) []string {
	var ids []string
	for _, match := range heading.FindAllStringSubmatch(text, -1) {
		id := unsluggy.ReplaceAllString(strings.ToLower(match[1]), "")
		ids = append(ids, strings.ReplaceAll(id, " ", "-"))
	}
	return ids
}

// outsideFences blanks out fenced blocks.
func outsideFences(text string) string {
	var kept []string
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside = !inside
			continue
		}
		if !inside {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// checkFences wants commands to stand where a test runs them.
func checkFences(name, text string) []string {
	var problems []string
	inside, language := false, ""
	for line := range strings.SplitSeq(text, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && inside:
			inside = false
		case isFence:
			inside, language = true, strings.TrimSpace(fence)
			if !slices.Contains(languages, language) {
				problems = append(problems, fmt.Sprintf("%s has a block in %q; commands stand in console blocks, which a test runs", name, language))
			}
		case inside && (language == "" || language == "text") && command.MatchString(line):
			problems = append(problems, fmt.Sprintf("%s shows the command %q outside a console block, where no test runs it", name, line))
		}
	}
	if inside {
		problems = append(problems, name+" has a block that does not end")
	}
	return problems
}

// checkTargets wants every make target that a document names to exist.
func checkTargets(name, text, makefile string) []string {
	var targets, problems []string
	for _, match := range makeTarget.FindAllStringSubmatch(makefile, -1) {
		targets = append(targets, match[1])
	}
	for _, match := range makeUse.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(targets, match[1]) {
			problems = append(problems, fmt.Sprintf("%s names make %s, which the Makefile has not", name, match[1]))
		}
	}
	return problems
}

// checkPlaces refuses what belongs to one machine: directories of a builder and
// addresses of package registries.
func checkPlaces(name, text string) []string {
	places := []string{"/work" + "/", "/tmp/" + "brief", "/root" + "/", "registry" + ".npmjs", "proxy" + ".golang.org", "pypi" + ".org", `"resolved": "` + "http", "GOPROXY" + "="}
	var problems []string
	for _, place := range places {
		if strings.Contains(text, place) {
			problems = append(problems, fmt.Sprintf("%s holds %q, which belongs to one machine", name, place))
		}
	}
	return problems
}

func TestDocuments_linksCommandsAndPlaces(t *testing.T) {
	tr := load(t)
	documents := tr.documents()
	if !slices.Contains(documents, "ARCHITECTURE.md") {
		t.Fatalf("found only %v", documents)
	}
	for _, name := range documents {
		complain(t, checkLinks(tr, name))
		complain(t, checkFences(name, tr.texts[name]))
		complain(t, checkTargets(name, tr.texts[name], tr.texts["Makefile"]))
	}
	for name, text := range tr.texts {
		complain(t, checkPlaces(name, text))
	}
}

func TestDocuments_plantedViolationsAreFound(t *testing.T) {
	text := "# One word\n[a](b.md) [c](#one-word) [d](#two) [e](https://example.org)\n" +
		"```sh\nmake nothing\n```\n```text\ncountersign version\n```\n`make check`\n```console\n"
	tr := tree{texts: map[string]string{"docs/a.md": text}, dirs: map[string]bool{}}
	got := slices.Concat(checkLinks(tr, "docs/a.md"), checkFences("docs/a.md", text),
		checkTargets("docs/a.md", text, "check: test\n"), checkPlaces("x", "see /work"+"/main"))
	want := []string{
		"docs/a.md links to b.md, which does not exist",
		"docs/a.md links to #two, which has no such heading",
		`docs/a.md has a block in "sh"; commands stand in console blocks, which a test runs`,
		`docs/a.md shows the command "countersign version" outside a console block, where no test runs it`,
		"docs/a.md has a block that does not end",
		"docs/a.md names make nothing, which the Makefile has not",
		`x holds "/work` + `/", which belongs to one machine`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
