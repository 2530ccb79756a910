package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/httpstatus"
	"github.com/countersign-dev/countersign/internal/task"
)

// statusError is a fault that is answered with a status of its own.
type statusError struct {
	refused *fault.Error
	status  int
}

func (e *statusError) Error() string { return e.refused.Error() }

// Unwrap gives the fault.
func (e *statusError) Unwrap() error { return e.refused }

// handled serves a route.
func (a API) handled(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if route.stream != nil {
			if err := route.stream(w, r); err != nil {
				a.refuse(w, r, route.id, err)
			}
			return
		}
		timed, cancel := route.timed(r)
		defer cancel()
		answer, err := route.call(timed)
		if err != nil {
			a.refuse(w, timed, route.id, err)
			return
		}
		document, err := json.Marshal(answer)
		if err != nil {
			a.refuse(w, timed, route.id, err)
			return
		}
		header := w.Header()
		header.Set("Content-Type", typeJSON)
		header.Set("Cache-Control", "no-store")
		if route.after != nil {
			route.after(r, header, answer)
		}
		w.WriteHeader(route.status)
		// A client that has gone cannot be told.
		_, _ = w.Write(append(document, '\n'))
	})
}

// refuse answers with the problem that an error is shown as.
func (a API) refuse(w http.ResponseWriter, r *http.Request, operation string, err error) {
	if refused, ok := errors.AsType[*statusError](err); ok {
		if refused.status == http.StatusUnsupportedMediaType {
			w.Header().Set("Accept", typeJSON)
		}
		problem(w, refused.status, refused.refused)
		return
	}
	shown := a.shown(r.Context(), operation, err)
	problem(w, httpstatus.Of(shown.Code), shown.WithHint("%s", fault.Named(shown.Hint, "call", a.named)))
}

// shown returns the fault that an error is shown as.
func (a API) shown(ctx context.Context, operation string, err error) *fault.Error {
	coded, is := fault.Of(err)
	switch {
	case is && coded.Code == fault.Unavailable:
		if !errors.Is(err, context.Canceled) {
			a.Log.WarnContext(ctx, "a call could not be served", slog.String("operation", operation), slog.Any("cause", err))
		}
		return coded
	case is && coded.Code != fault.Internal:
		return coded
	case ctx.Err() != nil:
		return fault.New(fault.Unavailable, "the call was given up before it ended").
			WithHint("Call again; if it persists, the operator should look for what is slow.")
	}
	reference := rand.Text()
	a.Log.ErrorContext(ctx, "a call failed inside Countersign",
		slog.String(fault.Reference, reference), slog.String("operation", operation), slog.Any("cause", err))
	return fault.Hidden(reference)
}

// bodyOf reads a body of at most task.MaxRequest bytes that says that it is JSON.
// One without any byte need not say so.
func bodyOf(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, task.MaxRequest))
	if over := (*http.MaxBytesError)(nil); errors.As(err, &over) {
		return nil, task.TooLarge("body", task.LimitRequest)
	}
	if err != nil {
		return nil, task.InvalidArgument("body", "could not be read")
	}
	if len(body) == 0 {
		return nil, nil
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != typeJSON || r.Header.Get("Content-Encoding") != "" {
		return nil, &statusError{
			task.InvalidArgument("Content-Type", "must be %s, without a Content-Encoding", typeJSON).
				WithHint("Send the arguments as one JSON object, with Content-Type: %s.", typeJSON),
			http.StatusUnsupportedMediaType,
		}
	}
	return body, nil
}
