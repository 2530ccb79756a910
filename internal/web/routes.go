package web

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Route is one thing that is served to browsers.
type Route struct {
	Pattern string // of http.ServeMux, with its method
	Name    string // of its screenshot; empty for what is no page
	Title   string // in the navigation, or of what it is
}

// patternProbe is the form that probes a component.
const patternProbe = "POST /components/{name}/probe"

// Routes returns everything that Pages serves when it has everybody to ask, in the
// order in which it is documented.
func Routes() []Route {
	var routes []Route
	for _, each := range pages() {
		routes = append(routes, each.Route)
	}
	routes = append(routes, Route{Pattern: patternProbe, Title: "Probe a component now"})
	for _, each := range assets() {
		routes = append(routes, Route{Pattern: each.pattern(), Title: each.title})
	}
	return routes
}

// page is a route to a page, and what makes it.
type page struct {
	Route

	inMenu bool
	served func(Options) bool // whether there is somebody to ask; nil for always
	blank  any                // content with which its template is tried
	show   func(*site, *http.Request) (frame, error)
}

// isServed reports whether there is somebody to ask for the page.
func (p page) isServed(by Options) bool { return p.served == nil || p.served(by) }

// Section is the place in the navigation to which a page belongs: that of a page
// of one thing is the list of such things.
func (p page) Section() string {
	if p.inMenu {
		return p.Name
	}
	return p.Name + "s"
}

// pages is the one table of pages, in the order of the navigation.
func pages() []page {
	return slices.Concat(overviewPages(), componentPages(), runPages(), taskPages(), agentPages(), connectPages())
}

// asset is a file that pages load.
type asset struct{ name, kind, title string }

func (a asset) pattern() string { return "GET /assets/" + a.name }

func assets() []asset {
	return []asset{
		{"style.css", "text/css; charset=utf-8", "The style sheet"},
		{"live.js", "text/javascript; charset=utf-8", "What keeps an open page up to date"},
		{"mark.svg", "image/svg+xml", "The mark"},
	}
}

// addAssets adds the handlers of the files that pages load.
func addAssets(handlers map[string]http.Handler) error {
	for _, each := range assets() {
		content, err := files.ReadFile("assets/" + each.name)
		if err != nil {
			return fmt.Errorf("read the pages' %s: %w", each.name, err)
		}
		tag := fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(content)))
		handlers[each.pattern()] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", each.kind)
			w.Header().Set("Cache-Control", "no-cache")
			w.Header().Set("ETag", tag)
			http.ServeContent(w, r, each.name, time.Time{}, bytes.NewReader(content))
		})
	}
	return nil
}
