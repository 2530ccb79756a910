package gates

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// What Options leaves out.
const (
	DefaultCacheFor = 5 * time.Second
	DefaultTimeout  = 10 * time.Second
)

// Options describes the server that the gates are put on.
type Options struct {
	// Service and Version are shown by every gate.
	Service string
	Version string
	// Dependencies are checked by /test, all at the same time, and named in its
	// detail in this order. Their names differ.
	Dependencies []Dependency
	// CacheFor is how long the result of a check is used again; DefaultCacheFor
	// when zero.
	CacheFor time.Duration
	// Timeout is how long one check may take; DefaultTimeout when zero.
	Timeout time.Duration
}

// Dependency is something that a server needs, with the check that proves it.
// Required and Optional make one.
type Dependency struct {
	name     string
	required bool
	kind     Kind
}

// Required is a dependency without which the server cannot do what it exists
// for: when its check fails, /test fails.
func Required(name string, kind Kind) Dependency {
	return Dependency{name: name, required: true, kind: kind}
}

// Optional is a dependency without which the server does less: when its check
// fails, /test passes and says that the server is degraded.
func Optional(name string, kind Kind) Dependency {
	return Dependency{name: name, kind: kind}
}

// Kind is how a dependency is checked: Executable, HTTP, SQL, TCP, Func or
// DetailFunc.
type Kind interface {
	// check examines the dependency until ctx is done at the latest.
	check(ctx context.Context) finding
}

// Mount puts GET /healthz, GET /health and GET /test on mux. HEAD works too.
//
// Like mux.Handle it panics on a programming mistake: a path that is taken, a
// dependency without a name, two dependencies of one name, a negative duration.
func Mount(mux *http.ServeMux, options Options) {
	readiness := newReadiness(options)
	alive := liveness(options)
	mux.Handle("GET /healthz", alive)
	mux.Handle("GET /health", alive)
	mux.Handle("GET /test", readiness)
}

// liveness answers /healthz from constants: if a dependency could fail it, an
// orchestrator would kill a process that is perfectly alive.
func liveness(options Options) http.Handler {
	body := struct {
		Status  string `json:"status"`
		Service string `json:"service"`
		Version string `json:"version"`
	}{"ok", options.Service, options.Version}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, body)
	})
}

func newReadiness(options Options) *readiness {
	if options.CacheFor < 0 || options.Timeout < 0 {
		panic("gates: CacheFor and Timeout must not be negative")
	}
	r := &readiness{service: options.Service, version: options.Version}
	named := make(map[string]bool)
	for _, dependency := range options.Dependencies {
		if dependency.name == "" || named[dependency.name] {
			panic(fmt.Sprintf("gates: the name %q of a dependency is empty or used twice", dependency.name))
		}
		named[dependency.name] = true
		r.checks = append(r.checks, &check{
			Dependency: dependency,
			cacheFor:   cmp.Or(options.CacheFor, DefaultCacheFor),
			timeout:    cmp.Or(options.Timeout, DefaultTimeout),
		})
	}
	return r
}

// answer writes body as JSON that no cache keeps.
func answer(w http.ResponseWriter, status int, body any) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		http.Error(w, "the answer could not be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
}
