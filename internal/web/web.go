// Package web owns the pages: what a person sees who opens the server in a
// browser.
//
// It knows no task, no registry and no database: rows and texts are given to it. Its one idea is that a page
// works without scripts, shows untrusted text as text, and loads nothing from
// elsewhere.
package web

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
)

//go:embed assets index.tmpl
var files embed.FS

// Server is what the index page tells of the server that serves it.
type Server struct {
	Version string
	URL     string // without a trailing slash
	// Configurations of MCP clients, ready to paste.
	OverHTTP  string
	OverStdio string
	Registry  RegistryClients
	// Fleet returns the registered components; nil when there is nothing to tell of
	// them. It is called for each page, and its time is bounded.
	Fleet func(context.Context) Fleet
	// Rejected returns what became of the configuration file while the server runs;
	// nil while the newest one is in force. A nil function always does. It is called
	// for each page and returns at once.
	Rejected func() *Rejection
}

// RegistryClients are configurations of orchestrators, ready to paste.
type RegistryClients struct {
	OverHTTP  string
	OverStdio string // empty for none
}

// MaxComponents is how many components the page shows at most.
const MaxComponents = 50

// Fleet is what the page tells of the registered components. Its texts are
// untrusted, without secrets.
type Fleet struct {
	Unread     string      // why they cannot be read; empty when they were
	Components []Component // those that need attention first; beyond MaxComponents they are not shown
	Total      int         // how many there are
	Counts     string      // how many there are of each status, in words
	At         time.Time   // when they were read; UTC is shown
}

// More is how many components the page does not show.
func (f Fleet) More() int { return f.Total - len(f.Shown()) }

// Shown are the components that the page shows.
func (f Fleet) Shown() []Component { return f.Components[:min(len(f.Components), MaxComponents)] }

// Component is one row of the table.
type Component struct {
	Name   string
	Kind   string
	Status string
	Marks  string   // words beside the status that ask for attention; may be empty
	Age    string   // of the newest result, in words; "-" when there is none
	Causes []string // in sentences
	Reason string
}

// Lamp is how the status looks: good, bad, or waiting for neither.
func (c Component) Lamp() string {
	switch c.Status {
	case "available":
		return "good"
	case "unavailable":
		return "bad"
	case "probing":
		return "begun"
	}
	return "dark"
}

// Rejection is a configuration file that was changed and not taken over.
type Rejection struct {
	File    string    // its path
	Message string    // every problem; untrusted text of several lines, without secrets
	Since   time.Time // when it was rejected; UTC is shown
}

// maxRejection is how many bytes of a rejection's message the page shows.
const maxRejection = 16 << 10

// Handler serves the index page at / and its files below /assets/.
func Handler(server Server) (http.Handler, error) {
	page, err := template.New("index.tmpl").Funcs(template.FuncMap{"visible": visible, "lines": lines}).
		ParseFS(files, "index.tmpl")
	if err != nil {
		return nil, fmt.Errorf("parse the index page: %w", err)
	}
	index, err := indexPage(page, server)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", index)
	for name, kind := range map[string]string{"style.css": "text/css; charset=utf-8", "mark.svg": "image/svg+xml"} {
		content, err := files.ReadFile("assets/" + name)
		if err != nil {
			return nil, fmt.Errorf("read the page's %s: %w", name, err)
		}
		mux.HandleFunc("GET /assets/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Cache-Control", "no-cache")
			_, _ = w.Write(content)
		})
	}
	return mux, nil
}

// indexPage serves the index page as it is at each request. It fails when the page
// cannot be written in one of its states.
func indexPage(page *template.Template, server Server) (http.Handler, error) {
	every := Fleet{Components: []Component{{Marks: "-", Causes: []string{""}, Reason: "-"}}, Total: 2}
	for _, state := range []shown{{Server: server}, {server, &Rejection{}, &every}, {server, nil, &Fleet{}}, {server, nil, &Fleet{Unread: "-"}}} {
		if err := page.Execute(io.Discard, state); err != nil {
			return nil, fmt.Errorf("write the index page: %w", err)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := shown{Server: server}
		if server.Rejected != nil {
			now.Rejection = server.Rejected()
		}
		if server.Fleet != nil {
			fleet := server.Fleet(r.Context())
			now.Components = &fleet
		}
		var index bytes.Buffer
		// It is written to memory, and was tried.
		_ = page.Execute(&index, now)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(index.Bytes())
	}), nil
}

// shown is what the template of the index page is given.
type shown struct {
	Server

	Rejection  *Rejection
	Components *Fleet // nil when there is nothing to tell
}

// visible writes control and direction characters of untrusted text, other than
// line feed and tab, as escapes (\u202e), so that they can be read but do nothing.
func visible(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.In(r, unicode.Cc, unicode.Cf) || r == '\u2028' || r == '\u2029') {
			fmt.Fprintf(&out, "\\u%04x", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// lines returns the lines of at most maxRejection bytes of untrusted text, and one
// more that says when something was left out.
func lines(text string) []string {
	if len(text) <= maxRejection {
		return strings.Split(visible(text), "\n")
	}
	kept := strings.ToValidUTF8(text[:maxRejection], "")
	return append(strings.Split(visible(kept), "\n"), "… The server’s log has the rest.")
}
