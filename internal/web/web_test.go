package web_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/web"
)

var update = flag.Bool("update", false, "write the golden files anew")

func handler(t *testing.T, server web.Server) http.Handler {
	t.Helper()
	pages, err := web.Handler(server)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func get(pages http.Handler, path string) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	pages.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer
}

func TestIndex_isTheGoldenPage(t *testing.T) {
	server := web.Server{
		Version: "0.0.0", URL: "http://127.0.0.1:1",
		OverHTTP:  "{\n  \"mcpServers\": {}\n}",
		OverStdio: `{"command": "countersign"}`,
		Registry:  web.RegistryClients{OverHTTP: "{\n  \"registry\": {}\n}"},
	}
	rejecting := server
	rejecting.Rejected = func() *web.Rejection {
		return &web.Rejection{
			File: "/etc/countersign.yaml", Message: "line 3: unknown key\nline 9: no component \"a\"",
			Since: time.Date(2026, 1, 2, 4, 4, 5, 0, time.FixedZone("one hour east", 3600)),
		}
	}
	watching := server
	watching.Registry.OverStdio = `{"command": "countersign", "args": ["mcp", "--registry"]}`
	watching.Fleet = func(context.Context) web.Fleet {
		return web.Fleet{
			Total: 60, Counts: "60 components: 56 available, 2 unavailable, 1 unknown, 1 probing",
			At: time.Date(2026, 1, 2, 4, 4, 5, 0, time.FixedZone("one hour east", 3600)),
			Components: []web.Component{
				{Name: "down", Kind: "mcp_server", Status: "unavailable", Age: "4s", Causes: []string{"The address refuses connections.", "Too old."}, Reason: "healthz: refused"},
				{Name: "stale", Kind: "model", Status: "unknown", Age: "3h", Reason: "the newest result is too old to count"},
				{Name: "drifted", Kind: "mcp_server", Status: "available", Age: "1s", Marks: "tools changed", Reason: "its tools are not the accepted ones"},
				{Name: "new", Kind: "harness", Status: "probing", Age: "-", Reason: "it has not been probed yet"},
				{Name: "calm", Kind: "knowledge_base", Status: "available", Age: "12s"},
			},
		}
	}
	empty := server
	empty.Fleet = func(context.Context) web.Fleet { return web.Fleet{} }
	for golden, server := range map[string]web.Server{
		"testdata/index.html": server, "testdata/rejected.html": rejecting, "testdata/components.html": watching, "testdata/empty.html": empty,
	} {
		page := get(handler(t, server), "/").Body.Bytes()
		if *update {
			if err := os.WriteFile(golden, page, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(page)); diff != "" {
			t.Errorf("%s (-want +got), write it anew with -update if it is meant:\n%s", golden, diff)
		}
	}
}

func TestIndex_showsARejectionWhileItLasts(t *testing.T) {
	var now *web.Rejection
	pages := handler(t, web.Server{Rejected: func() *web.Rejection { return now }})
	shows := func() bool { return strings.Contains(get(pages, "/").Body.String(), "was rejected") }
	if shows() {
		t.Error("a rejection is shown before there is one")
	}
	now = &web.Rejection{File: "a.yaml", Message: "wrong", Since: time.Unix(0, 0)}
	if !shows() {
		t.Error("the rejection is not shown")
	}
	now = nil
	if shows() {
		t.Error("the rejection is still shown")
	}
}

func TestIndex_showsARejectionAsBoundedHarmlessText(t *testing.T) {
	attack := "<script>alert(1)</script>\u202e\x1b[2J</code></pre><img src=x>\u2028"
	rejected := &web.Rejection{File: "/" + attack, Message: attack + "\nsecond\n" + strings.Repeat("é", 100_000)}
	page := get(handler(t, web.Server{Rejected: func() *web.Rejection { return rejected }}), "/").Body.String()
	for _, unwanted := range []string{"<script", "<img src=x", "\u202e", "\x1b", "\u2028", "\ufffd"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("the page holds %q", unwanted)
		}
	}
	for _, wanted := range []string{"<span>second</span>", `\u202e\u001b[2J`, "The server’s log has the rest."} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the page holds no %q", wanted)
		}
	}
	if len(page) > 32<<10 {
		t.Errorf("the page has %d bytes", len(page))
	}
}

// fleet serves a page about components.
func fleet(t *testing.T, fleet web.Fleet) string {
	t.Helper()
	return get(handler(t, web.Server{Fleet: func(context.Context) web.Fleet { return fleet }}), "/").Body.String()
}

func TestIndex_showsABoundedNumberOfComponents(t *testing.T) {
	components := make([]web.Component, 200)
	for i := range components {
		components[i] = web.Component{Name: fmt.Sprintf("c%03d", i), Status: "available", Age: "1s"}
	}
	page := fleet(t, web.Fleet{Components: components, Total: 200})
	if rows := strings.Count(page, `<th scope="row"`); rows != web.MaxComponents || !strings.Contains(page, "… and 150 more;") {
		t.Errorf("%d components are shown, want %d and how many more there are", rows, web.MaxComponents)
	}
	if page := fleet(t, web.Fleet{Components: components[:50], Total: 50}); strings.Contains(page, "more;") {
		t.Error("more components are told of than there are")
	}
}

func TestIndex_givesOnlyWhatIsAvailableTheGoodLamp(t *testing.T) {
	lamps := map[string]string{"available": "good", "unavailable": "bad", "unknown": "dark", "probing": "begun", "brewing": "dark"}
	for status, want := range lamps {
		page := fleet(t, web.Fleet{Total: 1, Components: []web.Component{{Name: "a", Status: status, Age: "1s"}}})
		if !strings.Contains(page, `<i class="lamp `+want+`" aria-hidden="true"></i>`+status+`</td>`) {
			t.Errorf("%s has another lamp than %s", status, want)
		}
	}
}

func TestIndex_saysWhenComponentsCannotBeRead(t *testing.T) {
	if page := fleet(t, web.Fleet{Unread: "the database <is> gone"}); !strings.Contains(page, "the database &lt;is&gt; gone") || strings.Contains(page, "<table") {
		t.Errorf("the page is\n%s", page)
	}
}

func TestIndex_showsWhatComponentsSayAsHarmlessText(t *testing.T) {
	attack := "<script>alert(1)</script>\u202e\x1b[2J</td></table><img src=x>"
	page := fleet(t, web.Fleet{Total: 1, Counts: attack, Components: []web.Component{
		{Name: attack, Kind: attack, Status: attack, Marks: attack, Age: attack, Causes: []string{attack}, Reason: attack},
	}})
	for _, unwanted := range []string{"<script", "<img src=x", "\u202e", "\x1b"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("the page holds %q", unwanted)
		}
	}
}

func TestIndex_showsUntrustedTextAsText(t *testing.T) {
	page := get(handler(t, web.Server{Version: `<script>alert(1)</script>`, OverStdio: `"</code><img src=x>`}), "/").Body.String()
	for _, unwanted := range []string{"<script", "<img src=x"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("the page holds %s", unwanted)
		}
	}
}

func TestIndex_loadsOnlyWhatIsServedHere(t *testing.T) {
	pages := handler(t, web.Server{})
	page := get(pages, "/").Body.String()
	for path, kind := range map[string]string{"/assets/style.css": "text/css; charset=utf-8", "/assets/mark.svg": "image/svg+xml"} {
		answer := get(pages, path)
		if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != kind || answer.Body.Len() == 0 {
			t.Errorf("GET %s = %d, %s, %d bytes", path, answer.Code, answer.Header().Get("Content-Type"), answer.Body.Len())
		}
		if !strings.Contains(page, path) {
			t.Errorf("the page does not use %s", path)
		}
	}
	for _, unwanted := range []string{"<script", "http://", "https://", "style=", "onclick"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("the page holds %s", unwanted)
		}
	}
	if strings.Contains(get(pages, "/assets/style.css").Body.String(), "max-height") {
		t.Error("the style may cut a text off where no scroll bar shows it")
	}
	if answer := get(pages, "/elsewhere"); answer.Code != http.StatusNotFound {
		t.Errorf("GET /elsewhere = %d", answer.Code)
	}
}
