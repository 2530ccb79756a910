//go:build unix

package e2e

import (
	"strings"
	"testing"
)

// TestProbe_conformsToTheOfficialSuite runs the suite's scenarios for clients at
// the prober. The driver probes the suite's server and, for the scenario with
// credentials, pins the issuer that the server names.
func TestProbe_conformsToTheOfficialSuite(t *testing.T) {
	t.Parallel()
	for _, scenario := range []string{
		"initialize", "request-metadata", "http-standard-headers", "json-schema-ref-no-deref", "tools_call",
		"http-custom-headers", "http-invalid-tool-headers", "auth/client-credentials-basic",
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			driver := node(t) + " " + absolute(t, "node/probe-driver.mjs")
			suite := run(t, t.TempDir(), environment(t, "COUNTERSIGN="+binary()), node(t),
				nodePackage(t, "@modelcontextprotocol/conformance/dist/index.js"),
				"client", "--command", driver, "--scenario", scenario)
			said := suite.stdout + suite.stderr
			if suite.code != 0 || !strings.Contains(said, "OVERALL: PASSED") || strings.Contains(said, "FAILURE") || strings.Contains(said, "WARNING") {
				t.Errorf("exit code %d\n%s", suite.code, said)
			}
		})
	}
}
