package registry_test

import (
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestNearest_findsWhatWasMeant(t *testing.T) {
	t.Parallel()
	known := []string{"asm", "asm-eu", "files", "ok"}
	for name, want := range map[string]string{
		"asm": "asm", "ASM": "asm", "asm_eu": "asm-eu", "filse": "files", "file": "files", "asmeu": "asm-eu",
		"nothing": "", "": "", "on": "", strings.Repeat("a", registry.MaxName+1): "",
	} {
		if got := registry.Nearest(name, known); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
