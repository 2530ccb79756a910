package registry_test

import (
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestIsName_takesTheFormOfAnAgentID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"a": true, "7": true, "asm-eu.1_b": true, strings.Repeat("a", registry.MaxName): true,
		"": false, ".a": false, "-a": false, "_": false, "A": false, "a b": false, "ä": false, "a\n": false, "http://x": false,
		strings.Repeat("a", registry.MaxName+1): false,
	} {
		if got := registry.IsName(text); got != want {
			t.Errorf("IsName(%q) = %v", text, got)
		}
	}
}
