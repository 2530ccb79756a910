package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/schema"
	"github.com/countersign-dev/countersign/internal/task"
)

// group is which routes share a bound of what is in flight.
type group int

const (
	reads group = iota
	writes
	probes
	streams // bounded by the feed
)

// about is what a route is called, and what is said of it.
type about struct {
	id          string // of the operation, as clients that are generated call it
	tag         string
	summary     string
	description string
	faults      []fault.Code // beside those of every route
}

// route is one route of the API: what serves it, and what describes it.
type route struct {
	about

	tool       string // of MCP that does the same, as hints call it; empty for a stream
	method     string
	path       string // below pathV1
	group      group
	limit      time.Duration // of a call; 0 for callTime
	parameters []parameter
	body       *jsonschema.Schema // nil for none

	status  int
	answer  reflect.Type // of the object that is answered; nil for a stream
	headers map[string]answerHeader

	call   func(*http.Request) (any, error)                      // nil when stream serves
	after  func(r *http.Request, header http.Header, answer any) // nil for nothing to add
	stream func(w http.ResponseWriter, r *http.Request) error
}

// descriptions are those of the arguments, in the path, the query and the body.
func (r *route) descriptions() []*string {
	var all []*string
	for i := range r.parameters {
		all = append(all, &r.parameters[i].Description)
	}
	if r.body != nil {
		for _, property := range r.body.Properties {
			all = append(all, &property.Description)
		}
	}
	return all
}

// segment is what a path names.
var segment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([a-z_]+)\}`) })

// named are the arguments in the path of a route.
func named(path string) []string {
	var names []string
	for _, match := range segment().FindAllStringSubmatch(path, -1) {
		names = append(names, match[1])
	}
	return names
}

// segments are the arguments that the path of a request gives.
func segments(r *http.Request, names []string) map[string]string {
	given := map[string]string{}
	for _, name := range names {
		given[name] = r.PathValue(name)
	}
	return given
}

// reading is a route that only reads. Its arguments are in the path and the query.
func reading[Q, R any](path string, what about, operation schema.Operation[Q], call func(context.Context, Q) (R, error)) route {
	names, tool, operation := named(path), operation.Name, operation.Called(what.id)
	return route{
		about: what, tool: tool, method: http.MethodGet, path: path, group: reads, status: http.StatusOK,
		answer: reflect.TypeFor[R](), parameters: parametersOf(operation, names, true),
		call: func(r *http.Request) (any, error) {
			request, err := operation.DecodeURL(segments(r, names), r.URL.RawQuery)
			if err != nil {
				return nil, err
			}
			return call(r.Context(), request)
		},
	}
}

// listing is a route that reads a page. next returns the cursor of the page after,
// empty for none.
func listing[Q, R any](path string, what about, operation schema.Operation[Q], call func(context.Context, Q) (R, error), next func(R) string) route {
	made := reading(path, what, operation, call)
	made.headers = map[string]answerHeader{"Link": {"The next page as rel=\"next\" (RFC 8288). Absent on the last one.", text()}}
	made.after = func(r *http.Request, header http.Header, answer any) {
		page, is := answer.(R)
		if !is || next(page) == "" {
			return
		}
		query := r.URL.Query()
		query.Set("cursor", next(page))
		header.Set("Link", "<"+(&url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: query.Encode()}).String()+`>; rel="next"`)
	}
	return made
}

// writing is a route that changes something. What of its arguments is not in the
// path is in the body.
func writing[Q, R any](path string, what about, operation schema.Operation[Q], call func(context.Context, Q) (R, error)) route {
	names, tool, operation := named(path), operation.Name, operation.Called(what.id)
	made := route{
		about: what, tool: tool, method: http.MethodPost, path: path, group: writes, status: http.StatusOK,
		answer: reflect.TypeFor[R](), parameters: parametersOf(operation, names, false),
	}
	if body := operation.Schema(names...); len(body.Properties) > 0 {
		made.body = body
	}
	made.call = func(r *http.Request) (any, error) {
		if r.URL.RawQuery != "" {
			return nil, task.InvalidArgument("query", "is given, and %s takes its arguments in the body", what.id)
		}
		body, err := bodyOf(r)
		if err != nil {
			return nil, err
		}
		request, err := operation.DecodeBody(segments(r, names), body)
		if err != nil {
			return nil, err
		}
		return call(r.Context(), request)
	}
	return made
}

// probing is a route that changes something by a probe.
func probing[Q, R any](path string, what about, operation schema.Operation[Q], call func(context.Context, Q) (R, error)) route {
	made := writing(path, what, operation, call)
	made.group, made.limit = probes, registry.MaxProbeWait
	return made
}

// timed bounds the time of a call.
func (r *route) timed(request *http.Request) (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(request.Context(), cmp.Or(r.limit, callTime))
	return request.WithContext(ctx), cancel
}
