package httpapi

import (
	"net/http"
	"strconv"
	"strings"
)

// asPage lets a browser do with an answer what a page needs. A form that is posted
// without a referrer has the origin null, which no guard lets in, so a page tells
// its own server where it stands.
func asPage(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", pagePolicy)
		w.Header().Set("Referrer-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// as404 answers with 404 whatever the status would be.
func as404(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&answered404{ResponseWriter: w}, r)
	})
}

// answered404 answers with 404 whatever the status would be.
type answered404 struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader writes 404 in the place of a final status.
func (a *answered404) WriteHeader(status int) {
	if status >= http.StatusOK {
		a.begun, status = true, http.StatusNotFound
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answered404) Write(p []byte) (int, error) {
	if !a.begun {
		a.WriteHeader(http.StatusNotFound)
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap serves http.ResponseController.
func (a *answered404) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// prefersHTML reports whether a client names HTML in Accept (RFC 9110, section
// 12.5.1) and likes it no less than JSON, as browsers do.
func prefersHTML(r *http.Request) bool {
	html, other := 0.0, 0.0
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, parameters, _ := strings.Cut(part, ";")
		quality := 1.0
		for parameter := range strings.SplitSeq(parameters, ";") {
			if name, value, _ := strings.Cut(strings.TrimSpace(parameter), "="); strings.EqualFold(name, "q") {
				quality, _ = strconv.ParseFloat(value, 64) // none when it is no number
			}
		}
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "text/html", "application/xhtml+xml":
			html = max(html, quality)
		case "application/json", "application/problem+json":
			other = max(other, quality)
		}
	}
	return html > 0 && html >= other
}
