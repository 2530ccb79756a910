package web_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/countersign-dev/countersign/internal/web"
)

// A status becomes unknown by the clock, of which no event tells but the tick.
func TestLive_readsThePageAgainAtEveryTickAndReset(t *testing.T) {
	script := visit(t, web.Options{}, "/assets/live.js")
	if script.Code != http.StatusOK {
		t.Fatalf("the script is answered with %d", script.Code)
	}
	for _, event := range []string{"tick", "reset"} {
		if !regexp.MustCompile(`(?m)^  stream\.addEventListener\("` + event + `", \(\) => concern\(\)\);`).MatchString(script.Body.String()) {
			t.Errorf("a %s has no page read again", event)
		}
	}
}
