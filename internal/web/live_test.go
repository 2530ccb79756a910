package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/web"
)

// Nothing else tells those who look at a page whose server is gone.
func TestLayout_hasRoomAtTheTopForWhatIsNotLive(t *testing.T) {
	page := visit(t, web.Options{}, "/connect").Body.String()
	place := `<div class="lost" role="status"><p id="link" hidden></p></div>`
	if at := strings.Index(page, place); at < 0 || at > strings.Index(page, "<main") {
		t.Error("the words that the page is not live do not stand before its content")
	}
}

// restlessGate is a gate at which something happens whenever tasks are listed.
type restlessGate struct {
	gateDouble

	happened int
}

func (g *restlessGate) List(ctx context.Context, query task.Query) (task.Page, error) {
	g.happened++
	return g.gateDouble.List(ctx, query)
}

// What happens while a page is read is told to it later.
func TestPages_sayWhereTheStreamOfEventsStoodBeforeTheyWereRead(t *testing.T) {
	gate := &restlessGate{}
	options := web.Options{Tasks: gate, After: func() string { return fmt.Sprintf("0-%d", gate.happened) }}
	for _, want := range []string{`<body data-topics="task" data-after="0-0"`, `<body data-topics="task" data-after="0-1"`} {
		if page := visit(t, options, "/tasks").Body.String(); !strings.Contains(page, want) {
			t.Errorf("the page has no %s:\n%.1200s", want, page)
		}
	}
	options.After = func() string { return "" }
	if page := visit(t, options, "/tasks").Body.String(); strings.Contains(page, "data-after") {
		t.Error("the page has a place where there is none")
	}
}

// A browser asks each time whether the files are as it has them.
func TestAssets_areSentOnce(t *testing.T) {
	pages, err := web.Pages(web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]bool{}
	for _, route := range web.Routes() {
		_, path, isFile := strings.Cut(route.Pattern, "GET /assets")
		if !isFile {
			continue
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/assets"+path, http.NoBody)
		first, again := httptest.NewRecorder(), httptest.NewRecorder()
		pages[route.Pattern].ServeHTTP(first, request)
		tag := first.Header().Get("ETag")
		request.Header.Set("If-None-Match", tag)
		pages[route.Pattern].ServeHTTP(again, request)
		if first.Code != http.StatusOK || first.Body.Len() == 0 || tag == "" || tags[tag] || first.Header().Get("Content-Type") == "" || first.Header().Get("Cache-Control") != "no-cache" {
			t.Errorf("%s is answered %d with %v", path, first.Code, first.Header())
		}
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s is answered %d with %d bytes to who has it", path, again.Code, again.Body.Len())
		}
		tags[tag] = true
	}
	if len(tags) < 3 {
		t.Errorf("there are %d files", len(tags))
	}
}
