package web_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

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
	pages := handler(t, web.Server{
		Version: "0.0.0", URL: "http://127.0.0.1:1",
		OverHTTP:  "{\n  \"mcpServers\": {}\n}",
		OverStdio: `{"command": "countersign"}`,
	})
	answer := get(pages, "/")
	const golden = "testdata/index.html"
	if *update {
		if err := os.WriteFile(golden, answer.Body.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), answer.Body.String()); diff != "" {
		t.Errorf("index page (-want +got), write it anew with -update if it is meant:\n%s", diff)
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
	if answer := get(pages, "/elsewhere"); answer.Code != http.StatusNotFound {
		t.Errorf("GET /elsewhere = %d", answer.Code)
	}
}
