package gates

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// rounds is how often one request looks at the results: a result that passed
// its age while a slower check ran is renewed, once.
const rounds = 2

// The wording of the detail is part of the contract of the gates.
const (
	detailWorks     = "all required tools executable"
	detailDegraded  = "; degraded (optional missing): "
	detailUnusable  = "required tools unusable: "
	detailNoneNamed = "no dependency declared: nothing proves that this server works"
)

// readiness answers /test.
type readiness struct {
	service string
	version string
	checks  []*check
}

type report struct {
	OK      bool            `json:"ok"`
	Detail  string          `json:"detail"`
	Service string          `json:"service"`
	Version string          `json:"version"`
	Tools   map[string]tool `json:"tools"`
}

type tool struct {
	Present    bool   `json:"present"`
	Executable bool   `json:"executable"`
	Path       string `json:"path,omitempty"`
	Version    string `json:"version,omitempty"`
	Detail     string `json:"detail"`
	LatencyMs  int64  `json:"latencyMs"`
	AgeMs      int64  `json:"ageMs"`
	Required   bool   `json:"required"`
}

// ServeHTTP checks every dependency and reports.
func (r *readiness) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	told := r.report(request.Context())
	status := http.StatusOK
	if !told.OK {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, told)
}

func (r *readiness) report(ctx context.Context) report {
	told := report{Service: r.service, Version: r.version, Tools: make(map[string]tool, len(r.checks))}
	var unusable, degraded []string
	for i, result := range r.results(ctx) {
		dependency := r.checks[i].Dependency
		told.Tools[dependency.name] = tool{
			Present:    result.present,
			Executable: result.works,
			Path:       result.path,
			Version:    result.version,
			Detail:     result.detail,
			LatencyMs:  result.latency.Milliseconds(),
			AgeMs:      time.Since(result.at).Milliseconds(),
			Required:   dependency.required,
		}
		switch {
		case result.works:
		case dependency.required:
			unusable = append(unusable, dependency.name)
		default:
			degraded = append(degraded, dependency.name)
		}
	}
	told.OK = len(unusable) == 0 && len(r.checks) > 0
	switch {
	case len(r.checks) == 0:
		told.Detail = detailNoneNamed
	case len(unusable) > 0:
		told.Detail = detailUnusable + strings.Join(unusable, ", ")
	case len(degraded) > 0:
		told.Detail = detailWorks + detailDegraded + strings.Join(degraded, ", ")
	default:
		told.Detail = detailWorks
	}
	return told
}

// results returns a result of every check, in the order of the checks.
func (r *readiness) results(ctx context.Context) []result {
	results := make([]result, len(r.checks))
	for range rounds {
		var wait sync.WaitGroup
		for i, c := range r.checks {
			wait.Go(func() { results[i] = c.result(ctx) })
		}
		wait.Wait()
		if r.fresh(results) {
			break
		}
	}
	return results
}

func (r *readiness) fresh(results []result) bool {
	for i, result := range results {
		if time.Since(result.at) >= r.checks[i].cacheFor {
			return false
		}
	}
	return true
}
