package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readDocumentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "CONFIGURATION.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocumentation_hasEveryKey holds the tables of the document against the
// sections that are read.
func TestDocumentation_hasEveryKey(t *testing.T) {
	t.Parallel()
	want := map[string][]string{}
	for heading, section := range map[string]reflect.Type{
		"Top level": reflect.TypeFor[document](), "network": reflect.TypeFor[network](),
		"components.NAME": reflect.TypeFor[sharedKeys](), "mcp_server": reflect.TypeFor[mcpServer](), "credentials": reflect.TypeFor[credentials](),
		"model": reflect.TypeFor[model](), "model credentials": reflect.TypeFor[modelCredentials](),
		"harness": reflect.TypeFor[harness](), "registry credentials": reflect.TypeFor[registryCredentials](), "scan": reflect.TypeFor[scan](),
		"allow": reflect.TypeFor[allowance](), "signature": reflect.TypeFor[signature](),
		"knowledge_base": reflect.TypeFor[knowledgeBase](), "retrieve": reflect.TypeFor[retrieve](),
		"oauth": reflect.TypeFor[oauth](), "canary": reflect.TypeFor[canary](), "expect": reflect.TypeFor[expect](),
		"slots.NAME": reflect.TypeFor[slot](), "runs.NAME": reflect.TypeFor[run](),
		"retention": reflect.TypeFor[retention](), "patrol": reflect.TypeFor[patrol](),
		"front": reflect.TypeFor[front](), "front.test": reflect.TypeFor[frontTest](),
		"alerts": reflect.TypeFor[alerts](), "webhooks": reflect.TypeFor[webhook](), "alertmanagers": reflect.TypeFor[alertmanager](),
		"executables.NAME": reflect.TypeFor[executable](), "http.NAME": reflect.TypeFor[httpCheck](),
	} {
		want[heading] = keysOf(section)
	}
	want["knowledge_base"] = want["knowledge_base"][len(want["mcp_server"]):] // which it embeds
	if sections := countSections(reflect.TypeFor[document](), map[reflect.Type]bool{}); sections != len(want) {
		t.Errorf("the file has %d sections, and the test knows %d", sections, len(want))
	}
	got := map[string][]string{}
	row := regexp.MustCompile("^\\| `([a-z_]+)` \\|")
	_, keys, _ := strings.Cut(readDocumentation(t), "\n## Keys\n")
	heading := ""
	for line := range strings.SplitSeq(keys, "\n") {
		if title, ok := strings.CutPrefix(line, "### "); ok {
			heading = strings.Trim(title, "`")
		}
		if found := row.FindStringSubmatch(line); found != nil {
			got[heading] = append(got[heading], found[1])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-read +documented):\n%s", diff)
	}
}

// countSections counts the structs that a type is made of.
func countSections(section reflect.Type, seen map[reflect.Type]bool) int {
	if slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Map, reflect.Slice}, section.Kind()) {
		return countSections(section.Elem(), seen)
	}
	if section.Kind() != reflect.Struct || seen[section] {
		return 0
	}
	seen[section] = true
	if section == reflect.TypeFor[component]() {
		count := countSections(reflect.TypeFor[sharedKeys](), seen)
		for _, each := range knownKinds() {
			count += countSections(reflect.TypeOf(each.keys()), seen)
		}
		return count
	}
	count := 1
	for field := range section.Fields() {
		count += countSections(field.Type, seen)
	}
	return count
}

func TestDocumentation_itsExamplesAreValid(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readDocumentation(t), -1)
	if len(blocks) < 4 {
		t.Fatalf("found %d examples", len(blocks))
	}
	for _, block := range blocks {
		if _, invalid := parse("example.yaml", "/", block[1]); invalid != nil {
			t.Error(invalid)
		}
	}
}
