package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestMain_tellsThatItsOutputCannotBeWritten has the answer and the refusal go to a
// device that is always full.
func TestMain_tellsThatItsOutputCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"version", "version --json", "version --wrong --json"} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		var told bytes.Buffer
		code := Main(t.Context(), strings.Fields(line), Surroundings{In: strings.NewReader(""), Out: full, Err: &told, Getenv: func(string) string { return "" }})
		if err := full.Close(); err != nil {
			t.Error(err)
		}
		want := "no space left on device"
		if strings.Contains(line, "--wrong") {
			want = "unknown flag --wrong"
		}
		if code != 2 || !strings.HasPrefix(told.String(), "countersign: E_") || !strings.Contains(told.String(), want) {
			t.Errorf("%s: exit %d\n%s", line, code, told.String())
		}
	}
}
