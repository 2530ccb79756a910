package probe_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	oci "github.com/google/go-containerregistry/pkg/registry"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// inTurn holds the parts of a probe that lasted from one moment to another against
// each other: those named come one after the other, and all within the probe.
func inTurn(t *testing.T, parts []registry.PartTime, from, to time.Time, names ...string) {
	t.Helper()
	const rounding = time.Microsecond
	for _, part := range parts {
		if part.Took > 0 && (part.Began.Before(from) || part.Began.Add(part.Took).After(to.Add(rounding))) {
			t.Errorf("%s is said to have lasted from %v for %v, in a probe from %v to %v", part.Part, part.Began, part.Took, from, to)
		}
	}
	for i, name := range names[1:] {
		before, after := partNamed(t, parts, names[i]), partNamed(t, parts, name)
		if ended := before.Began.Add(before.Took); after.Began.Before(ended.Add(-rounding)) {
			t.Errorf("%s is said to have begun at %v, and %s before it to have ended at %v", name, after.Began, names[i], ended)
		}
	}
}

func partNamed(t *testing.T, parts []registry.PartTime, name string) registry.PartTime {
	t.Helper()
	i := slices.IndexFunc(parts, func(part registry.PartTime) bool { return part.Part == name })
	if i < 0 {
		t.Fatalf("there is no part %s in %v", name, parts)
	}
	return parts[i]
}

func TestProbe_tellsWhenEachPartWasBegun(t *testing.T) {
	t.Parallel()
	url := double{mcp: searches(structured(handbook)).serve}.start(t).URL
	whole := spec(url)
	whole.Canary = &registry.Canary{Tool: "search", Force: true}
	from := time.Now()
	parts := retrieved(t, whole, generous).Summary().Parts
	inTurn(t, parts, from, time.Now(), "listTools", "retrieve")

	whole.Profile, whole.URL = registry.Protocol, url+"/mcp"
	from = time.Now()
	parts = retrieved(t, whole, generous).Summary().Parts
	inTurn(t, parts, from, time.Now(), "listTools", "test", "retrieve")
	if alive := partNamed(t, parts, "healthz"); !alive.Began.Equal(partNamed(t, parts, "listTools").Began) {
		t.Errorf("healthz is said to have begun at %v, and the conversation that shows it is another: %v", alive.Began, parts)
	}
}

func TestHarness_tellsWhenEachPartWasBegun(t *testing.T) {
	t.Parallel()
	image := push(t, ociRegistry(t, nil, oci.WithReferrersSupport(true)).URL)
	image.attach(t, typeTrivy, trivy{digest: image.digest(), packages: 1}.json())
	from := time.Now()
	inTurn(t, image.probed(t).Summary().Parts, from, time.Now(), "resolved", "scanned")
}

func TestHarness_countsTheSearchForReportsOnceWhenItFails(t *testing.T) {
	t.Parallel()
	image := push(t, ociRegistry(t, nil, oci.WithReferrersSupport(true)).URL)
	image.spec.Scan.Reports = []string{filepath.Join(t.TempDir(), "none.json")}
	from := time.Now()
	summary := image.probed(t).Summary()
	if took := time.Since(from); summary.Latency > took {
		t.Errorf("the probe took %v, and is said to have taken %v in its parts: %v", took, summary.Latency, summary.Parts)
	}
	if clean := partNamed(t, summary.Parts, "clean"); clean.Took != 0 || clean.Cause != registry.NoReport {
		t.Errorf("what was never judged is told as %+v", clean)
	}
}

func TestModel_tellsWhenItWasInvoked(t *testing.T) {
	t.Parallel()
	from := time.Now()
	result := probe.Examine(t.Context(), &registry.Component{Name: "model", Spec: &registry.Model{
		Provider: registry.ProviderOpenAI, BaseURL: double{}.start(t).URL, Model: "gpt", Mode: registry.ModeChat,
	}}, settings(generous))
	part := result.Summary().Parts[0]
	if part.Began.Before(from) || part.Took == 0 || part.Cause == "" {
		t.Errorf("the invocation is told as %+v", part)
	}
}
