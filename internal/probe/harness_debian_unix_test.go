//go:build unix

package probe_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/countersign-dev/countersign/internal/registry"
)

// debianRegistry starts the registry that Debian has, which knows nothing of
// referrers, and returns its address. make needs installs it.
func debianRegistry(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Fatalf("%v; make needs installs Debian's docker-registry", err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := free.Addr().String()
	must(t, free.Close())
	folder := t.TempDir()
	config := filepath.Join(folder, "config.yml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, "version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %q}\n", folder, address), 0o600))
	command := exec.Command(program, "serve", config)
	command.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	said, err := command.StderrPipe()
	must(t, err)
	must(t, command.Start())
	last := make(chan string, 1)
	go func() {
		words := ""
		for lines := bufio.NewScanner(said); lines.Scan(); {
			words = lines.Text()
		}
		last <- words
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		words := <-last
		if err := command.Wait(); err != nil && t.Failed() {
			t.Logf("the registry ended with %v; its last words: %s", err, words)
		}
	})
	limit := time.Now().Add(generous)
	for time.Now().Before(limit) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v2/", http.NoBody)
		must(t, err)
		if response, err := http.DefaultClient.Do(request); err == nil {
			must(t, response.Body.Close())
			return address
		}
	}
	t.Fatal("the registry does not come up")
	return ""
}

// TestHarness_isProvenOnTheRegistryOfDebian goes through the tag that stands in
// for the API of referrers, and through the tags of cosign.
func TestHarness_isProvenOnTheRegistryOfDebian(t *testing.T) {
	t.Parallel()
	address := debianRegistry(t)
	image := push(t, address)
	checkHarness(t, image.probed(t), registry.NoReport)

	image.attach(t, typeTrivy, trivy{age: 2 * day, digest: image.digest(), packages: 3}.json())
	checkHarness(t, image.probed(t))

	image.attach(t, typeTrivy, trivy{age: day, digest: image.digest(), packages: 3, found: []string{"CVE-2026-7 HIGH"}}.json())
	checkHarness(t, image.probed(t), registry.BlockingFindings)

	image.spec.Scan.DatabaseMaxAge = 3 * day
	image.keep(t, ".att", attestation(statement(image.digest(), cosignVuln, vulnerabilities(time.Hour, 2*day, jsonOf(trivy{packages: 3}.json())))))
	checkHarness(t, image.probed(t))

	key := ecdsaKey(t)
	image.spec.SignatureKey = publicPEM(t, key)
	checkHarness(t, image.probed(t), registry.BadSignature)
	image.keep(t, ".sig", []mutate.Addendum{signature(t, key, image.digest())}...)
	checkHarness(t, image.probed(t))

	image.spec.Image = image.repository.Name() + "@sha256:" + strings.Repeat("1", 64)
	checkHarness(t, image.probed(t), registry.MissingImage)
}
