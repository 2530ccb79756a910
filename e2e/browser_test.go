//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/web"
)

// TestPages_inARealBrowser walks through every page of the one list of routes, on a
// server with life in it and on one that has just been installed.
func TestPages_inARealBrowser(t *testing.T) {
	t.Parallel()
	s, b := newScene(t, "127.0.0.1:0", 2*time.Second), newBrowser(t)
	empty := startServe(t, sqlite(t))
	for name, walk := range map[string]func(*testing.T, *scene, *browser){
		"accessible": walkAccessibly, "keyboard": walkByKeyboard, "without scripts": walkWithoutScripts, "times": readTimes, "pictures": takePictures,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walk(t, s, b)
		})
	}
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		walkEmpty(t, b, empty)
	})
}

// visit is one address of one page.
type visit struct {
	name   string // of the route's picture
	path   string
	status int64
}

// visits are the addresses of every page: at least one for each route.
func (s *scene) visits(t *testing.T) []visit {
	t.Helper()
	of := map[string][]string{
		"overview": {""}, "components": {"", "?status=unavailable", "?search=scan", "?attention=needed"}, "runs": {""}, "agents": {"", "?order=verdicts"}, "connect": {""},
		"tasks":     {"", "?status=pending", "?status=verified", "?status=rejected"},
		"component": {"sast", "scanner", "tickets", "writer", "scan-image", "handbook", "warehouse", "files", "critic", "scanner-eu", "retired"},
		"run":       {"release", "nightly", "eu-nightly", "one-off"}, "agent": {"night-bot", "builder-2"},
		"task": {s.tasks["lineage-2"], s.tasks["claimed"], s.tasks["pending"], s.tasks["verified"], s.tasks["new"]},
	}
	var all []visit
	for _, route := range pageRoutes() {
		places, ok := of[route.Name]
		if !ok {
			t.Errorf("nobody visits the page %s at %s", route.Name, route.Pattern)
		}
		for _, place := range places {
			all = append(all, visit{route.Name, pathOf(route) + place, http.StatusOK})
		}
	}
	return append(all, visit{"error", "/nothing/here", http.StatusNotFound}, visit{"error", "/components/nobody", http.StatusNotFound},
		visit{"error", "/tasks/nothing", http.StatusNotFound}, visit{"error", "/runs/nothing", http.StatusNotFound})
}

// pageRoutes are the routes that have a page.
func pageRoutes() []web.Route {
	var pages []web.Route
	for _, route := range web.Routes() {
		if route.Name != "" {
			pages = append(pages, route)
		}
	}
	return pages
}

// pathOf is the path of a route up to what names one thing.
func pathOf(route web.Route) string {
	path, _, _ := strings.Cut(strings.TrimPrefix(route.Pattern, "GET "), "{")
	return path
}

// walkAccessibly looks at every page in both themes and both widths, and lets axe
// judge it.
func walkAccessibly(t *testing.T, s *scene, b *browser) {
	p := b.tab(t, s.address)
	axe := readFile(t, nodePackage(t, "axe-core/axe.min.js"))
	titles, seen := map[string]string{}, map[string]bool{}
	for _, place := range s.visits(t) {
		if status := p.open(t, place.path); status != place.status {
			t.Errorf("%s answers %d, want %d", place.path, status, place.status)
		}
		p.isWhole(t, place, titles)
		evaluate[bool](t, p, axe+";true")
		p.looksWell(t, place.path, seen[place.name])
		seen[place.name] = true
	}
}

// looksWell looks at a page in both themes and both widths, or in one way at one
// that is like another.
func (p *tab) looksWell(t *testing.T, path string, isLike bool) {
	t.Helper()
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{wide, narrow} {
			p.look(t, theme, width)
			where := fmt.Sprintf("%s, %s, %d px", path, theme, width)
			if over := evaluate[int](t, p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("%s: it scrolls sideways by %d px: %s", where, over, evaluate[string](t, p, widest))
			}
			if !isLike || theme == "dark" && width == narrow {
				p.pleases(t, where)
			}
		}
	}
}

// widest names what is wider than the page.
const widest = `[...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
	.slice(0, 4).map(e => e.outerHTML.slice(0, 120)).join(' | ')`

// isWhole looks at what every page has. Titles are those of other pages.
func (p *tab) isWhole(t *testing.T, place visit, titles map[string]string) {
	t.Helper()
	if problems := p.heard(); place.status == http.StatusOK && len(problems) > 0 { // of an error, the browser complains
		t.Errorf("%s: %v", place.path, problems)
	}
	found := evaluate[struct {
		Title, Language, Heading string
		Headings, Mains          int
	}](t, p, `({
		title: document.title, language: document.documentElement.lang, headings: document.querySelectorAll('h1').length,
		heading: document.querySelector('h1')?.textContent ?? '', mains: document.querySelectorAll('main').length,
	})`)
	path, _, _ := strings.Cut(place.path, "?")
	if other, ok := titles[found.Title]; ok && other != path && place.status == http.StatusOK {
		t.Errorf("%s has the title of %s: %s", path, other, found.Title)
	}
	titles[found.Title] = path
	if found.Title == "" || found.Language != "en" || found.Headings != 1 || found.Heading == "" || found.Mains != 1 {
		t.Errorf("%s: %+v", path, found)
	}
}

// pleases lets axe judge the page as it looks now.
func (p *tab) pleases(t *testing.T, where string) {
	t.Helper()
	violations := evaluate[string](t, p, `axe.run(document, {
		resultTypes: ['violations'],
		runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
	}).then(found => JSON.stringify(found.violations.map(v => v.id + ' (' + v.help + '): ' + v.nodes.map(n => n.html + ' ' + n.failureSummary).join(' | '))))`)
	var all []string
	must(t, json.Unmarshal([]byte(violations), &all))
	for _, one := range all {
		t.Errorf("%s: axe finds %.1500s", where, one)
	}
}

// walkEmpty looks at a server that has just been installed: each page says what to
// do next.
func walkEmpty(t *testing.T, b *browser, address string) {
	p := b.tab(t, address)
	axe := readFile(t, nodePackage(t, "axe-core/axe.min.js"))
	for _, route := range pageRoutes() {
		if strings.Contains(route.Pattern, "{name}") || strings.Contains(route.Pattern, "{id}") {
			continue
		}
		path := pathOf(route)
		if status := p.open(t, path); status != http.StatusOK {
			t.Errorf("%s of an empty server answers %d", path, status)
		}
		p.isFine(t, path)
		if text := evaluate[string](t, p, `document.querySelector('main').innerText`); !strings.Contains(text, "countersign") && !strings.Contains(text, "create_task") && !strings.Contains(text, "claim_done") {
			t.Errorf("%s of an empty server teaches nothing:\n%s", path, text)
		}
		evaluate[bool](t, p, axe+";true")
		for _, width := range []int64{narrow, wide} {
			p.look(t, "dark", width)
			p.pleases(t, fmt.Sprintf("%s of an empty server, %d px", path, width))
		}
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	must(t, err)
	return string(content)
}
