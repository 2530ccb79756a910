package web_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/web"
)

var (
	// partOnPage is a part and its word on the page of a component.
	partOnPage = regexp.MustCompile(`</i>(\w+) <span class="word [a-z]+">([a-z ]+)</span>`)
	// partInList is one in a list of components that failed, and sumInList what is said of all.
	partInList = regexp.MustCompile(`</i>(\w+)<span class="unseen"> failed</span>`)
	sumInList  = regexp.MustCompile(`<li>(\d of 7 parts hold[^<]*)</li>`)
)

// harnesses are results of an image as probes make them: what fails, and why the
// parts behind it have the same words or others.
func harnesses() map[string]registry.HarnessResult {
	held := registry.Pass(0, "it holds")
	fails := func(cause registry.Cause, took time.Duration) registry.GateResult {
		return registry.Fail(took, cause, string(cause)+" in words")
	}
	asked, unreached := fails(registry.Refused, 3*time.Millisecond), fails(registry.Refused, 0)
	unreported, foreign := fails(registry.NoReport, 0), fails(registry.WrongSubject, 0)
	report := &registry.ScanReport{Format: "trivy", Packages: 3}
	whole := registry.HarnessResult{
		Resolved: held, Signed: &held, Scanned: held, Subject: held, Recent: held, Covered: held, Clean: held, Report: report,
	}
	made := map[string]registry.HarnessResult{
		"everything holds": whole,
		"nobody could look at the image": {
			Resolved: asked, Signed: &unreached, Scanned: unreached, Subject: unreached, Recent: unreached, Covered: unreached, Clean: unreached,
		},
		"there is no report":                {Resolved: held, Signed: &held, Scanned: unreported, Subject: unreported, Recent: unreported, Covered: unreported, Clean: unreported},
		"the report is about another image": {Resolved: held, Signed: &held, Scanned: held, Subject: foreign, Recent: foreign, Covered: foreign, Clean: foreign},
	}
	moved := whole
	unsigned := fails(registry.BadSignature, time.Millisecond)
	moved.Resolved, moved.Signed = fails(registry.MovedTag, time.Millisecond), &unsigned
	made["the tag has moved, and nothing is signed"] = moved
	broken := whole
	broken.Scanned, broken.Recent = unreported, fails(registry.StaleScan, 0)
	made["the scanner says that it failed"] = broken
	return made
}

// A list knows less of a result than its page, and must say the same of it.
func TestHarness_isSaidToBeTheSameInAListAndOnItsPage(t *testing.T) {
	for name, result := range harnesses() {
		t.Run(name, func(t *testing.T) {
			result.Target, result.Image, result.ProbedAt = "image", "registry.example/scan", noon
			document, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			fleet := foreign(asItIs).fleet(t)
			view, summary := fleet.views["image"], result.Summary()
			view.Result = document
			fleet.views["image"] = view
			fleet.recent = map[string][]registry.RecentResult{"image": {{Outcome: summary.Outcome, Proof: summary.Proof}}}
			words := map[string][]string{}
			for _, found := range partOnPage.FindAllStringSubmatch(visit(t, web.Options{Fleet: fleet}, "/components/image").Body.String(), -1) {
				words[found[2]] = append(words[found[2]], found[1])
			}
			want := fmt.Sprintf("%d of 7 parts hold", len(words["passed"]))
			if unjudged := len(words["not judged"]); unjudged > 0 {
				want += fmt.Sprintf(", %d not judged", unjudged)
			}
			list := visit(t, web.Options{Fleet: fleet}, "/components").Body.String()
			var failed []string
			for _, found := range partInList.FindAllStringSubmatch(list, -1) {
				failed = append(failed, found[1])
			}
			if sum := sumInList.FindStringSubmatch(list); sum == nil || sum[1] != want || !slices.Equal(failed, words["failed"]) {
				t.Errorf("the list says %q and that %q failed; the page %v", sum, failed, words)
			}
			if all := slices.Concat(slices.Collect(maps.Values(words))...); len(all) != len(registry.HarnessParts()) {
				t.Errorf("the page tells of %q", all)
			}
		})
	}
}
