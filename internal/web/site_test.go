package web

import (
	"bytes"
	"html/template"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestSite_refersToTheLogWhereAPageCannotBeWritten(t *testing.T) {
	var log bytes.Buffer
	s, err := newSite(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	broken, err := template.New("broken").Parse("{{.Nothing}}")
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	s.write(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), broken, frame{})
	found := regexp.MustCompile(`reference ([A-Z2-7]{26}) `).FindStringSubmatch(answer.Body.String())
	if answer.Code != http.StatusInternalServerError || found == nil || !strings.Contains(log.String(), found[1]) {
		t.Errorf("the answer is %d %s; the log:\n%s", answer.Code, answer.Body, log.String())
	}
}
