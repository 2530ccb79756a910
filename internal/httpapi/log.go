package httpapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
)

// maxPath bounds the path in a log line, in bytes.
const maxPath = 200

// logged writes one line for each request: neither its query nor its headers nor
// its body, which may hold secrets.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		ctx, span := s.begin(r.Context(), r)
		r = r.WithContext(ctx)
		answer := &watched{ResponseWriter: w}
		defer func() {
			status := cmp.Or(answer.status, http.StatusOK)
			s.end(span, r, answer, status)
			s.options.Log.LogAttrs(ctx, levelOf(r, status), "request",
				slog.String("method", r.Method),
				slog.String("path", shownPath(r)),
				slog.Int("status", status),
				slog.Int64("bytes", answer.bytes),
				slog.Float64("took_ms", float64(time.Since(began).Microseconds())/1000))
		}()
		next.ServeHTTP(answer, r)
	})
}

// headerAgain is in the requests by which an open page reads itself again: see
// live.js.
const headerAgain = "Countersign-Again"

// levelOf keeps what probes, scrapes and open pages ask again and again out of an
// ordinary log, but not that they failed.
func levelOf(r *http.Request, status int) slog.Level {
	path := r.URL.Path
	switch path {
	case PathHealthz, pathHealth, PathTest, PathMetrics, PathEvents:
		if status < http.StatusMultipleChoices {
			return slog.LevelDebug
		}
	}
	isAgain := r.Method == http.MethodGet && r.Header.Get(headerAgain) != "" && !strings.HasPrefix(path, pathAPI)
	if (isAgain || strings.HasPrefix(path, pathAssets)) && status < http.StatusBadRequest {
		return slog.LevelDebug
	}
	if status >= http.StatusInternalServerError {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// shownPath is the path percent-encoded, and so without any control character.
func shownPath(r *http.Request) string {
	path := r.URL.EscapedPath()
	if len(path) > maxPath {
		return path[:maxPath] + "..."
	}
	return path
}

// recovered answers a request whose handler panicked and keeps the server alive.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		defer func() {
			if cause := recover(); cause != nil {
				s.answerPanic(ctx, w, cause)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func (s *Server) answerPanic(ctx context.Context, w http.ResponseWriter, cause any) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler) // how net/http is told to break off
	}
	reference := rand.Text()
	s.options.Log.ErrorContext(ctx, "a handler panicked",
		slog.String(fault.Reference, reference),
		slog.String("cause", fmt.Sprint(cause)),
		slog.String("stack", string(debug.Stack())))
	if answer, ok := w.(*watched); ok && answer.status != 0 {
		panic(http.ErrAbortHandler) // the answer has begun; it must not look complete
	}
	problem(w, http.StatusInternalServerError, fault.Hidden(reference))
}

// watched remembers what a client was answered.
type watched struct {
	http.ResponseWriter
	status int
	bytes  int64
	// refused is the code of the problem that was answered; empty when none was.
	refused fault.Code
}

// WriteHeader remembers the final status.
func (a *watched) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *watched) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Flush sends what was written so far, for answers that are streams of events.
func (a *watched) Flush() { _ = a.FlushError() }

// FlushError serves http.ResponseController.
func (a *watched) FlushError() error { return http.NewResponseController(a.ResponseWriter).Flush() }

// Unwrap serves http.ResponseController.
func (a *watched) Unwrap() http.ResponseWriter { return a.ResponseWriter }
