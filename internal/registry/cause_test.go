package registry_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// TestCauses_beginWithTheClosedListOfTheGates leaves those that only one kind has
// to the tests of that kind.
func TestCauses_beginWithTheClosedListOfTheGates(t *testing.T) {
	t.Parallel()
	const contract = "not_configured, dns, refused, unreachable, tls, timeout, redirect, status, not_json, wrong_shape, " +
		"not_ok, auth, forbidden, rate_limited, not_mcp, version_mismatch, handshake, protocol_error, zero_tools, " +
		"missing_tool, identity, tools_changed, canary_failed, too_large, process_exit, process_start, denied, overloaded, old_version"
	var names []string
	for _, entry := range registry.Causes() {
		names = append(names, string(entry.Cause))
	}
	want := strings.Split(contract, ", ")
	if diff := cmp.Diff(want, names[:len(want)]); diff != "" {
		t.Errorf("causes (-contract +got):\n%s", diff)
	}
}

func TestCauses_eachHasOneSentenceAndOneHint(t *testing.T) {
	t.Parallel()
	seen := map[string]registry.Cause{}
	for _, entry := range registry.Causes() {
		for _, text := range []string{entry.Sentence, entry.Hint} {
			if !strings.HasSuffix(text, ".") || strings.Count(text, ". ") > 0 && text == entry.Sentence {
				t.Errorf("%s: %q is not one sentence", entry.Cause, text)
			}
			if other, twice := seen[text]; twice {
				t.Errorf("%s and %s share the text %q", other, entry.Cause, text)
			}
			seen[text] = entry.Cause
		}
		if got, ok := entry.Cause.Entry(); !ok || got != entry {
			t.Errorf("Entry of %s = %v, %v, want its row", entry.Cause, got, ok)
		}
	}
	if _, ok := registry.Cause("bad luck").Entry(); ok {
		t.Error("an invented cause has an entry")
	}
}
