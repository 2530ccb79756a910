package telemetry_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// documented is a row of the tables of docs/METRICS.md: name, type, unit, labels
// and meaning.
var documented = regexp.MustCompile("(?m)^\\| `(countersign_[a-z_]+)` \\| ([a-z]+) \\| ([^|]+) \\| ([^|]*)\\| ([^|]+) \\|$")

// told is what a golden file tells of each metric: its type and its labels.
func told(golden string) map[string]string {
	metrics := map[string]string{}
	kind := ""
	for line := range strings.Lines(golden) {
		if words := strings.Fields(line); words[0] == "#" {
			if words[1] == "TYPE" {
				kind = words[3]
			}
			continue
		}
		name, labels, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), "}"), "{")
		if kind == "histogram" {
			name = regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		}
		named := slices.DeleteFunc(strings.Split(labels, ","), func(label string) bool { return label == "le" || label == "" })
		metrics[name] = kind + " " + strings.Join(named, ",")
	}
	return metrics
}

func TestDocument_explainsEachMetricAsItIs(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("testdata/metrics.golden")
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile("../../docs/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]string{}
	for _, row := range documented.FindAllStringSubmatch(string(document), -1) {
		labels := regexp.MustCompile("[a-z_]+").FindAllString(row[4], -1)
		slices.Sort(labels)
		if _, twice := explained[row[1]]; twice {
			t.Errorf("%s is explained twice", row[1])
		}
		explained[row[1]] = row[2] + " " + strings.Join(labels, ",")
	}
	if diff := cmp.Diff(told(string(golden)), explained); diff != "" {
		t.Errorf("metrics (-as they are +as they are explained):\n%s", diff)
	}
}
