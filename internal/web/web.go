// Package web owns the pages: what a person sees who opens the server in a
// browser.
//
// It knows no task and no database. Its one idea is that a page works without
// scripts, shows untrusted text as text, and loads nothing from elsewhere.
package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
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
}

// Handler serves the index page at / and its files below /assets/.
func Handler(server Server) (http.Handler, error) {
	page, err := template.ParseFS(files, "index.tmpl")
	if err != nil {
		return nil, fmt.Errorf("parse the index page: %w", err)
	}
	var index bytes.Buffer
	if err := page.Execute(&index, server); err != nil {
		return nil, fmt.Errorf("write the index page: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(index.Bytes())
	})
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
