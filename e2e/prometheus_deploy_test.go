//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// deployed is a file of deploy.
func deployed(t *testing.T, name string) string {
	t.Helper()
	return absolute(t, filepath.Join("..", "deploy", name))
}

// ruleFile is what is read of a file of alert rules.
type ruleFile struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr string
		}
	}
}

// alertRules are the expressions of the alert rules, by name.
func alertRules(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(deployed(t, "prometheus/rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var read ruleFile
	if err := yaml.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	rules := map[string]string{}
	for _, group := range read.Groups {
		for _, rule := range group.Rules {
			rules[rule.Alert] = rule.Expr
		}
	}
	if len(rules) < 15 {
		t.Fatalf("%d rules were read", len(rules))
	}
	return rules
}

// dashboardQueries are the expressions of the dashboard with its variables filled
// in, by panel.
func dashboardQueries(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(deployed(t, "grafana/countersign.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	filled := strings.NewReplacer("$__rate_interval", "1m", "$job", "countersign")
	queries := map[string]string{}
	for _, panel := range read.Panels {
		for _, target := range panel.Targets {
			queries[panel.Title+" "+target.RefID] = filled.Replace(target.Expr)
		}
	}
	if len(queries) < 30 {
		t.Fatalf("%d queries were read", len(queries))
	}
	return queries
}

func TestDeploy_isValidForPromtool(t *testing.T) {
	t.Parallel()
	promtool, folder := needed(t, "promtool"), filepath.Dir(deployed(t, "prometheus/prometheus.yml"))
	for _, args := range [][]string{
		{"check", "config", "prometheus.yml"}, {"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"},
	} {
		if got := run(t, folder, environment(t), append([]string{promtool}, args...)...); got.code != 0 {
			t.Errorf("promtool %v = %d\n%s%s", args, got.code, got.stdout, got.stderr)
		}
	}
}

func TestDeploy_testsThatEachRuleFiresAndDoesNot(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(deployed(t, "prometheus/rules_test.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	fires, calm := map[string]bool{}, map[string]bool{}
	for _, test := range read.Tests {
		for _, rule := range test.AlertRuleTest {
			if len(rule.ExpAlerts) > 0 {
				fires[rule.Alertname] = true
			} else {
				calm[rule.Alertname] = true
			}
		}
	}
	for name := range alertRules(t) {
		if !fires[name] || !calm[name] {
			t.Errorf("%s is tested to fire: %v, and not to: %v", name, fires[name], calm[name])
		}
	}
}

// ourMetric is a name of a metric of ours within an expression.
var ourMetric = regexp.MustCompile(`\bcountersign_[a-z_]+`)

// TestDeploy_asksOnlyForMetricsThatExist has promtool read every expression as a
// recording rule, and compares the names with those of the program.
func TestDeploy_asksOnlyForMetricsThatExist(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile(filepath.Join("..", "internal", "telemetry", "testdata", "metrics.golden"))
	if err != nil {
		t.Fatal(err)
	}
	exist := map[string]bool{}
	for line := range strings.Lines(string(golden)) {
		if !strings.HasPrefix(line, "#") {
			exist[ourMetric.FindString(line)] = true
		}
	}
	queries := dashboardQueries(t)
	maps.Copy(queries, alertRules(t))
	asked := map[string]bool{}
	recorded := strings.Builder{}
	recorded.WriteString("groups:\n- name: all\n  rules:\n")
	for i, place := range slices.Sorted(maps.Keys(queries)) {
		fmt.Fprintf(&recorded, "  - {record: \"r%d\", expr: %q}\n", i, queries[place])
		for _, name := range ourMetric.FindAllString(queries[place], -1) {
			asked[name] = true
			if !exist[name] {
				t.Errorf("%s asks for %s, which does not exist", place, name)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "recorded.yml")
	writeFile(t, file, recorded.String())
	if got := run(t, filepath.Dir(file), environment(t), needed(t, "promtool"), "check", "rules", file); got.code != 0 {
		t.Errorf("promtool = %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	// What nobody looks at is not shown for a reason.
	for _, name := range slices.Sorted(maps.Keys(exist)) {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		unasked := []string{"countersign_patrol_results_stored_total", "countersign_patrol_probe_duration_seconds", "countersign_config_reloads_total", "countersign_alert_lease_held"}
		if !asked[base] && !asked[base+"_bucket"] && !asked[name] && !slices.Contains(unasked, base) {
			t.Errorf("neither rules nor dashboard look at %s", base)
		}
	}
}
