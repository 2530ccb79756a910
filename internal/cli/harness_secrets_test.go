package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHarness_leavesItsSecretsNowhere has an image's registry give back what it was
// sent: in nothing that is printed, and in no byte of the database, is a secret.
func TestHarness_leavesItsSecretsNowhere(t *testing.T) {
	t.Parallel()
	for _, credentials := range []string{"{bearer: env:TOKEN}", "{username: us, password: env:TOKEN}"} {
		s := newShell(t)
		s.env["TOKEN"] = bearerSecret
		address := listening(t, func(w http.ResponseWriter, request *http.Request) {
			sent := request.Header.Get("Authorization")
			if sent == "" {
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="tests"`, request.Host))
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if request.URL.Path == "/token" {
				fmt.Fprintf(w, `{"token":%q}`, issuedToken)
				return
			}
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "not with %s of %s", sent, bearerSecret)
		})
		_, host, _ := strings.Cut(address, "://")
		file := configured(t, fmt.Sprintf("components:\n  it: {kind: harness, image: '%s/a@sha256:%s', credentials: %s}\nslots: {s: {primary: it}}\nruns: {r: {slots: {s: required}}}\n",
			host, strings.Repeat("a", 64), credentials))
		database := filepath.Join(t.TempDir(), "db")
		var said strings.Builder
		for _, args := range [][]string{{"probe", "it"}, {"--json", "probe", "it"}, {"component", "show", "it"}, {"preflight", "r"}, {"config", "check"}} {
			args = append(args, "--config", file)
			if args[0] != "config" {
				args = append(args, "--db", database)
			}
			_, out, complaint := s.run(args...)
			said.WriteString(out + complaint)
		}
		stored, err := filepath.Glob(database + "*")
		if err != nil || len(stored) == 0 {
			t.Fatalf("there is no database: %v", err)
		}
		for _, each := range stored {
			content, err := os.ReadFile(each)
			if err != nil {
				t.Fatal(err)
			}
			said.Write(content)
		}
		if found := leaks(said.String()); len(found) > 0 {
			t.Errorf("%s: %q leaks in\n%.4000s", credentials, found, said.String())
		}
		if !strings.Contains(said.String(), "[secret]") || !strings.Contains(said.String(), "forbidden") {
			t.Errorf("%s: the registry's answers are not shown:\n%.4000s", credentials, said.String())
		}
	}
}
