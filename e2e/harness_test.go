//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	oci "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestPreflight_holdsARunToItsImage goes with the real binary through the life of
// a run that depends on a container image.
func TestPreflight_holdsARunToItsImage(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(oci.New(oci.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelError))))
	t.Cleanup(server.Close)
	repository, err := name.NewRepository(strings.TrimPrefix(server.URL, "http://") + "/tools/scanner")
	if err != nil {
		t.Fatal(err)
	}
	digest := pushImage(t, repository.Tag("v1"))
	folder, env, database := t.TempDir(), environment(t), sqlite(t)
	image := repository.Name() + ":v1@" + digest
	configure(t, folder, fmt.Sprintf(`
components:
  scanner-image: {kind: harness, image: "%s", scan: {max_age: 168h, reports: [scan.json]}}
slots: {tools: {primary: scanner-image}}
runs: {nightly: {slots: {tools: required}}}
`, image))
	command := func(arguments ...string) outcome {
		return run(t, folder, env, append([]string{binary(), "--json"}, append(arguments, "--db", database)...)...)
	}
	scan := func(severity string) {
		report := fmt.Sprintf(`{"SchemaVersion":2,"CreatedAt":%q,"ArtifactName":%q,"Metadata":{"OS":{"Family":"debian","Name":"12"}},
			"Results":[{"Class":"os-pkgs","Packages":[{"Name":"openssl"}],"Vulnerabilities":[{"VulnerabilityID":"CVE-2026-7","PkgName":"openssl","Severity":%q}]}]}`,
			time.Now().UTC().Format(time.RFC3339), image, severity)
		if err := os.WriteFile(filepath.Join(folder, "scan.json"), []byte(report), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	scan("CRITICAL")
	wantCause(t, "a finding that blocks", command("preflight", "nightly"), "findings")
	scan("LOW")
	ticket := filepath.Join(folder, "ticket.json")
	if got := command("preflight", "nightly", "--ticket", ticket); got.code != 0 || !strings.Contains(got.stdout, digest) {
		t.Fatalf("a clean image: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := command("preflight", "--check", ticket); got.code != 0 {
		t.Errorf("the ticket does not hold: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	var result struct {
		Passed bool
		Digest string
	}
	if got := command("probe", "scanner-image"); json.Unmarshal([]byte(got.stdout), &result) != nil || !result.Passed || result.Digest != digest {
		t.Errorf("the probe says: %s%s", got.stdout, got.stderr)
	}
	pushImage(t, repository.Tag("v1"))
	wantCause(t, "a tag that moved while the run was under way", command("preflight", "--check", ticket), "moved_tag")
	if got := command("component", "list"); !strings.Contains(got.stdout, `"unavailable"`) || !strings.Contains(got.stdout, `"moved_tag"`) {
		t.Errorf("the list does not say so: %s%s", got.stdout, got.stderr)
	}
}

func wantCause(t *testing.T, what string, got outcome, cause string) {
	t.Helper()
	if got.code != 1 || !strings.Contains(got.stdout, `"`+cause+`"`) {
		t.Errorf("%s: exit code %d, and no cause %s\n%s%s", what, got.code, cause, got.stdout, got.stderr)
	}
}

// pushImage pushes an image of its own to a tag, and returns its digest.
func pushImage(t *testing.T, tag name.Tag) string {
	t.Helper()
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tag, image); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}
