package web_test

import (
	"net/http"
	"regexp"
	"strings"
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

// Nothing else tells those who look at a page whose server is gone.
func TestLayout_hasRoomAtTheTopForWhatIsNotLive(t *testing.T) {
	page := visit(t, web.Options{}, "/connect").Body.String()
	place := `<div class="lost" role="status"><p id="link" hidden></p></div>`
	if at := strings.Index(page, place); at < 0 || at > strings.Index(page, "<main") {
		t.Error("the words that the page is not live do not stand before its content")
	}
	script := visit(t, web.Options{}, "/assets/live.js").Body.String()
	sheet := visit(t, web.Options{}, "/assets/style.css").Body.String()
	for _, wanted := range []string{`body.classList.add("stale")`, `body.classList.remove("stale")`} {
		if !strings.Contains(script, wanted) {
			t.Errorf("the script has no %s", wanted)
		}
	}
	for _, wanted := range []string{`.stale [data-live] { --good: var(--faint); --bad: var(--faint); --warn: var(--faint); }`, `.stale [data-live] .lamp {`} {
		if !strings.Contains(sheet, wanted) {
			t.Errorf("the style sheet has no %s", wanted)
		}
	}
}
