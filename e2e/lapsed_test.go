//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"testing"
)

// unlookedAt is for how many probes of a component, one a second, nobody looks. Its
// results count for three of them.
const unlookedAt = 5

var (
	// availableHere is what the metrics say of a component that is available, and
	// pressingHere what the overview says of one that is not.
	availableHere = regexp.MustCompile(`(?m)^countersign_component_status\{component="tracker",status="available"\} 1$`)
	pressingHere  = regexp.MustCompile(`id="component-tracker"`)
)

// TestServe_tellsOfAPatrolThatProbesMoreOftenThanAnybodyLooks has a component probed
// each second, and looks at it more seldom than its results count.
func TestServe_tellsOfAPatrolThatProbesMoreOftenThanAnybodyLooks(t *testing.T) {
	t.Parallel()
	double, folder := newSceneServer("tracker", "1.4.0", sceneTool{"track", "Track it.", ""}), t.TempDir()
	configure(t, folder, fmt.Sprintf("components:\n  tracker: {kind: mcp_server, url: %q, interval: 1s}\n", listenAs(t, double.handler())))
	serve := start(t, folder, environment(t), binary(), "serve", "--db", sqlite(t), "--listen", "127.0.0.1:0")
	address := serve.await(t, servedAt.String())[1]
	// api reads the component from the database, past what is kept.
	api := func() (status, result string) {
		code, text := fetch(t, address+"/api/v1/components/tracker")
		var told struct {
			Status   string `json:"status"`
			ResultID string `json:"result_id"`
		}
		if err := json.Unmarshal([]byte(text), &told); err != nil || code != http.StatusOK {
			t.Fatalf("the component is %d %s: %v", code, text, err)
		}
		return told.Status, told.ResultID
	}
	for _, path := range []string{"/metrics", "/"} {
		fetch(t, address+path)
		// A patrol that a busy machine holds up makes a component unknown in truth.
		eventually(t, "the patrol does not come to rest", func() bool {
			seen := map[string]bool{}
			eventually(t, "it is not probed", func() bool {
				_, result := api()
				seen[result] = true
				return len(seen) > unlookedAt
			})
			code, text := fetch(t, address+path)
			if status, _ := api(); status != "available" {
				return false
			}
			if path == "/metrics" && !availableHere.MatchString(text) || path == "/" && pressingHere.MatchString(text) || code != http.StatusOK {
				t.Errorf("the component is available, and %s (%d) says:\n%s", path, code, text)
			}
			return true
		})
	}
}
