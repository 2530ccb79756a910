package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestExamination_ofAKnowledgeBaseIsShownWithItsRetrieval(t *testing.T) {
	t.Parallel()
	held := registry.Pass(time.Millisecond, "200 OK")
	passed := registry.KnowledgeBaseResult{
		Gates: registry.ProbeResult{
			Target: "handbook", Profile: registry.ThreeGates, Healthz: held, Test: held, Tools: []string{"search"},
			ListTools: registry.ToolsResult{GateResult: registry.Pass(time.Millisecond, "1 tool"), ToolCount: 1},
			ProbedAt:  time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		},
		Retrieve: registry.RetrievalResult{
			GateResult: registry.Pass(7*time.Millisecond, "search: 2 chunks of version v1, with pw-1"),
			Retrieved:  registry.Retrieved{Chunks: 2, FoundIDs: []string{"pw-1"}, Version: "v1", Pinned: "v1", Warnings: []string{"odd\x1b[2J"}},
		},
	}
	other := passed
	other.Retrieve.GateResult = registry.Fail(7*time.Millisecond, registry.WrongVersion, `search: the content version is "v1"; "v2" is pinned`)
	other.Retrieve.Pinned, other.Retrieve.Warnings = "v2", nil
	empty := passed
	empty.Retrieve = registry.RetrievalResult{GateResult: registry.Fail(time.Millisecond, registry.Empty, "search: there is no chunk")}
	empty.Gates.Test = empty.Retrieve.GateResult
	for want, result := range map[string]*registry.KnowledgeBaseResult{
		`handbook  passed

  gate        lamp       latency   detail
  healthz     ok          1.0 ms   200 OK
  test        ok          1.0 ms   200 OK
  listTools   ok          1.0 ms   1 tool: search
  retrieve    ok          7.0 ms   search: 2 chunks of version v1, with pw-1

  content     version v1, as pinned
  warning     odd\u001b[2J
  probed at   2026-11-30 12:00:00 UTC
`: &passed,
		`handbook  FAILED

  gate        lamp       latency   detail
  healthz     ok          1.0 ms   200 OK
  test        ok          1.0 ms   200 OK
  listTools   ok          1.0 ms   1 tool: search
  retrieve    FAIL        7.0 ms   wrong_version: search: the content version is "v1"; "v2" is pinned

  hint        retrieve: The content is not of the pinned version. Index the
              version that is pinned, or pin the one that is meant.

  content     version v1; pinned is v2
  probed at   2026-11-30 12:00:00 UTC
`: &other,
		`handbook  FAILED

  gate        lamp       latency   detail
  healthz     ok          1.0 ms   200 OK
  test        FAIL        1.0 ms   empty: search: there is no chunk
  listTools   ok          1.0 ms   1 tool: search
  retrieve    FAIL        1.0 ms   empty: search: there is no chunk

  hint        test: The retrieval works and finds nothing. Look whether the
              corpus was indexed, and indexed with the model that searches it;
              do not index again before that.

  probed at   2026-11-30 12:00:00 UTC
`: &empty,
	} {
		found := &registry.Examination{Reading: registry.Reading{Name: "handbook"}}
		got := examinationText(found, result, nil, "", painter{})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
