package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

const pinned = "registry.example/scanner@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

func TestParse_readsAHarness(t *testing.T) {
	t.Parallel()
	loaded, invalid := parse("file.yaml", "/srv", `
components:
  scanner-image:
    kind: harness
    image: `+pinned+`
    credentials: {username: ci, password: env:REGISTRY_PASSWORD}
    scan:
      max_age: 168h
      database_max_age: 72h
      fail_on: critical
      allow: [{id: CVE-2026-0001, until: 2027-01-31}]
      accept_unproven_coverage: true
      reports: [reports/scan.json, /var/scan.sarif]
    signature: {key: cosign.pub}
`)
	if invalid != nil {
		t.Fatal(invalid)
	}
	want := &registry.Harness{
		Image:       pinned,
		Credentials: registry.ImageCredentials{Username: registry.SecretText("ci"), Password: registry.SecretAt("env:REGISTRY_PASSWORD")},
		Scan: registry.Scan{
			MaxAge: 168 * time.Hour, DatabaseMaxAge: 72 * time.Hour, FailOn: registry.SeverityCritical,
			Allow:                  []registry.Allowance{{ID: "CVE-2026-0001", Until: time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)}},
			AcceptUnprovenCoverage: true, Reports: []string{"/srv/reports/scan.json", "/var/scan.sarif"},
		},
		SignatureKey: registry.SecretAt("file:/srv/cosign.pub"),
	}
	if diff := cmp.Diff(registry.Spec(want), loaded.Components[0].Spec); diff != "" {
		t.Errorf("the harness (-want +got):\n%s", diff)
	}
	if got := Show(&loaded.Components[0]); got.Target != pinned {
		t.Errorf("it is shown as %+v", got)
	}
}

func TestParse_refusesWhatIsNoHarness(t *testing.T) {
	t.Parallel()
	_, invalid := parse("file.yaml", "/srv", `
components:
  a: {kind: harness, image: registry.example/scanner}
  b: {kind: harness, image: "registry.example/scanner:v1"}
  c: {kind: harness, image: registry.example/scanner@sha256:abc}
  d: {kind: harness, scan: {fail_on: terrible, allow: [{id: CVE-1, until: soon}, {id: cve-1, until: 2027-01-31}]}}
  e: {kind: harness, image: `+pinned+`, credentials: {bearer: env:A, docker_keychain: true, username: x}}
  f: {kind: harness, image: `+pinned+`, signature: {}, url: http://127.0.0.1}
`)
	if invalid == nil {
		t.Fatal("this is called valid")
	}
	want := []string{
		"3:29: the image is not pinned by a digest / Write REGISTRY/NAME@sha256:... as docker push or docker inspect tells it; what a tag points at may change.",
		"4:29: the image is not pinned by a digest / Write REGISTRY/NAME@sha256:... as docker push or docker inspect tells it; what a tag points at may change.",
		"5:29: what follows the @ is not sha256: and 64 hexadecimal digits in lower case / Write it as REGISTRY/NAME@sha256:..., or with a tag as REGISTRY/NAME:TAG@sha256:....",
		"6:3: image is missing / Add the key image.",
		"6:38: there is no such severity / The severities are unknown, negligible, low, medium, high, critical.",
		"6:75: this is not a day / Write one such as 2027-01-31; the entry counts to its end in UTC.",
		"6:87: this stands in the list a second time / Keep one.",
		"7:127: bearer and docker_keychain and username exclude each other / Keep one.",
		"7:179: username needs password / Add password: env:NAME.",
		"8:127: key is missing / Add the key key.",
		`8:142: the kind harness has no key "url" / It is a key of the kind mcp_server.`,
	}
	if diff := cmp.Diff(want, briefly(invalid.Problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestWarnings_tellWhatIsDoubtfulAboutAHarness(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "key.pub"), []byte("a public key"), 0o644); err != nil {
		t.Fatal(err)
	}
	loaded, invalid := parse("file.yaml", folder, `
components:
  a: {kind: harness, image: `+pinned+`, scan: {accept_unproven_coverage: true}, signature: {key: key.pub}}
`)
	if invalid != nil {
		t.Fatal(invalid)
	}
	warnings := briefly(loaded.Warnings(Resolver{Lookup: func(string) (string, bool) { return "", false }}))
	if len(warnings) != 2 || !strings.Contains(warnings[0], "any age") || !strings.Contains(warnings[1], "looked at nothing") {
		t.Errorf("got %q", warnings)
	}
}
