package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/httpstatus"
)

// site is all pages with whom they ask.
type site struct {
	Options

	menu   []entry
	layout *template.Template
	failed *template.Template // the page of an error
}

// entry is a place in the navigation.
type entry struct{ Name, Title, Path string }

// frame is one page before it is set: what the layout needs, and what the page's
// own template is given.
type frame struct {
	Title   string        // what the page is about; untrusted text
	Section string        // the Name of the route that is marked in the navigation; may be empty
	Topics  []string      // of which events the page is to be read anew: see topics in live.js
	Status  int           // of the answer; 0 for 200
	After   string        // the place in the stream of events before which all is shown; may be empty
	Gather  time.Duration // how long events gather before the page is read anew; 0 for an instant
	Content any
}

// framed is what the layout is given.
type framed struct {
	frame

	Menu      []entry
	Path      string // of the page
	Version   string
	Rejection *Rejection
	Drawn     moment // when the page was made
}

// newSite makes a site with its layout and its navigation.
func newSite(options Options) (*site, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	s := &site{Options: options}
	for _, each := range pages() {
		if each.inMenu && each.isServed(options) {
			s.menu = append(s.menu, entry{each.Name, each.Title, pathOf(each.Pattern)})
		}
	}
	var err error
	s.layout, err = template.New("layout.tmpl").Funcs(functions()).Funcs(template.FuncMap{"typed": s.typed}).ParseFS(files, "templates/layout.tmpl", "templates/parts.tmpl")
	if err != nil {
		return nil, fmt.Errorf("parse the layout of the pages: %w", err)
	}
	s.failed, err = s.ready("error", failure{All: &entry{}})
	return s, err
}

// addPages adds the handlers of all pages for which there is somebody to ask.
func (s *site) addPages(handlers map[string]http.Handler) error {
	for _, each := range pages() {
		if !each.isServed(s.Options) {
			continue
		}
		made, err := s.ready(each.Name, each.blank)
		if err != nil {
			return err
		}
		handlers[each.Pattern] = s.handler(each, made)
	}
	return nil
}

// ready parses the template of a page into a copy of the layout, and tries it.
func (s *site) ready(name string, blank any) (*template.Template, error) {
	made, err := s.layout.Clone()
	if err != nil {
		return nil, fmt.Errorf("copy the layout for the page %s: %w", name, err)
	}
	if made, err = made.ParseFS(files, "templates/"+name+".tmpl"); err != nil {
		return nil, fmt.Errorf("parse the page %s: %w", name, err)
	}
	tried := framed{frame: frame{Title: "-", Topics: []string{"-"}, After: "-", Content: blank}, Rejection: &Rejection{}, Menu: []entry{{}}}
	if err := made.Execute(io.Discard, tried); err != nil {
		return nil, fmt.Errorf("write the page %s: %w", name, err)
	}
	return made, nil
}

// handler serves one page as it is at each request.
func (s *site) handler(of page, made *template.Template) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var after string
		if s.After != nil {
			after = s.After() // before anything is read
		}
		shown, err := of.show(s, r)
		if err != nil {
			s.fail(w, r, of.Section(), err)
			return
		}
		shown.After, shown.Section = after, cmp.Or(shown.Section, of.Section())
		if shown.Title == "" && of.inMenu {
			shown.Title = of.Title
		}
		s.write(w, r, made, shown)
	})
}

// write sets a page and sends it.
func (s *site) write(w http.ResponseWriter, r *http.Request, made *template.Template, shown frame) {
	whole := framed{frame: shown, Menu: s.menu, Path: r.URL.Path, Version: s.Version, Drawn: s.at(s.Now())}
	if s.Rejected != nil {
		whole.Rejection = s.Rejected()
	}
	var written bytes.Buffer
	if err := made.Execute(&written, whole); err != nil {
		hidden := s.hide(r.Context(), fmt.Errorf("write %s: %w", shortPath(r), err))
		http.Error(w, "The page could not be written. "+hidden.Hint, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	if shown.Status != 0 {
		httpstatus.SayWhenAgain(w.Header(), shown.Status)
		w.WriteHeader(shown.Status)
	}
	_, _ = w.Write(written.Bytes()) // A client that has gone cannot be told.
}

// failure is what the page of an error is given.
type failure struct {
	Heading string
	Message string // untrusted text
	Hint    string // untrusted text
	Code    fault.Code
	All     *entry // the list of such things; nil for the error of another page
}

// fail answers with the page of an error.
func (s *site) fail(w http.ResponseWriter, r *http.Request, section string, err error) {
	refusal := s.shown(r.Context(), fmt.Errorf("%s %s: %w", r.Method, shortPath(r), err))
	heading := headingOf(refusal.Code)
	shown := failure{Heading: heading, Message: refusal.Message, Hint: refusal.Hint, Code: refusal.Code}
	if refusal.Code == fault.NotFound {
		shown.All = s.listOf(section)
	}
	s.write(w, r, s.failed, frame{Title: heading, Section: section, Status: httpstatus.Of(refusal.Code), Content: shown})
}

// maxPath bounds the path of a page in the log, in bytes.
const maxPath = 200

// shortPath is the path of a request without any control character.
func shortPath(r *http.Request) string {
	path := r.URL.EscapedPath()
	return path[:min(len(path), maxPath)]
}

// shown is the fault that an error is shown as. What only an operator can mend goes
// to the log, with its cause.
func (s *site) shown(ctx context.Context, err error) *fault.Error {
	coded, known := fault.Of(err)
	switch {
	case known && coded.Code == fault.Unavailable:
		if ctx.Err() == nil {
			s.Log.WarnContext(ctx, "a page, or a part of it, cannot be read", slog.Any("cause", err))
		}
		return coded
	case known && coded.Code != fault.Internal:
		return coded
	case ctx.Err() != nil:
		return fault.New(fault.Unavailable, "the page was given up before it had been read").WithHint("Load it again.")
	}
	return s.hide(ctx, err)
}

// hide logs an error under a reference, which is all that is shown of it.
func (s *site) hide(ctx context.Context, err error) *fault.Error {
	reference := rand.Text()
	s.Log.ErrorContext(ctx, "a page, or a part of it, cannot be shown", slog.String(fault.Reference, reference), slog.Any("cause", err))
	return fault.Hidden(reference)
}

// listOf leads to all things of a section; nil when there is no such list.
func (s *site) listOf(section string) *entry {
	for _, each := range s.menu {
		switch {
		case each.Name != section:
		case section == "tasks":
			return &entry{each.Name, strings.ToLower(each.Title), each.Path + "?" + paramStatus + "=" + anyStatus}
		default:
			return &entry{each.Name, strings.ToLower(each.Title), each.Path}
		}
	}
	return nil
}

// headingOf is the heading of the page of a fault.
func headingOf(code fault.Code) string {
	switch code {
	case fault.NotFound:
		return "Not found"
	case fault.InvalidArgument, fault.InvalidAgentID, fault.TooLarge:
		return "Not understood"
	case fault.Unavailable:
		return "Cannot be read now"
	case fault.SelfVerify, fault.WrongState, fault.EmptyCriteria, fault.EmptyEvidence, fault.MissingNotes,
		fault.IdentityMismatch, fault.AlreadySuperseded, fault.IdempotencyConflict, fault.Internal:
	}
	return "Something is wrong"
}
