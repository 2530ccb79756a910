package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/schema"
	"github.com/countersign-dev/countersign/internal/task"
)

// Handler returns the MCP endpoint, which serves every protocol version without
// sessions. Its calls are made by the anonymous principal.
//
// It refuses, with a JSON-RPC error as body where it is itself that refuses: a
// Host that is no loopback name and a foreign or null Origin with 403, a body
// over task.MaxRequest bytes with 413, a malformed message with 400, another
// method than POST with 405, a wrong Accept with 400, another Content-Type than
// JSON with 415.
func (s *Server) Handler() http.Handler {
	server := s.endpoint(task.Anonymous())
	protocol := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{
			Stateless: true, JSONResponse: true, MaxRequestBodyBytes: task.MaxRequest,
			DisableLocalhostProtection: true, // onLoopback checks more, and everywhere
		})
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, http.StatusForbidden, notRequest(nil, fmt.Sprintf("Origin %.80q may not call this server", r.Header.Get("Origin"))))
	}))
	return s.recovered(s.onLoopback(origins.Handler(s.wellFormed(accompanied(protocol)))))
}

// requestKey is under what the context of a call keeps that of its HTTP request.
type requestKey struct{}

// accompanied puts the context of each request where attended finds it: the SDK
// cuts a call off from the end of its request, which over HTTP without sessions is
// the only way of a client to cancel it.
func accompanied(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), requestKey{}, r.Context())
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// attended returns a context that also ends when the client of a call over HTTP
// hangs up. It is for calls that change nothing and take long.
func attended(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	request, overHTTP := ctx.Value(requestKey{}).(context.Context)
	if !overHTTP {
		return ctx, cancel
	}
	stop := context.AfterFunc(request, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// recovered turns a panic into an answer.
func (s *Server) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.answerPanic(w, r)
		next.ServeHTTP(w, r)
	})
}

func (s *Server) answerPanic(w http.ResponseWriter, r *http.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause) // how net/http is told to break off
	}
	hidden := s.hide(r.Context(), r.Method+" "+r.URL.Path, fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
	s.refuse(w, http.StatusInternalServerError, &refused{code: jsonrpc.CodeInternalError, message: hidden.Message, data: hidden})
}

// onLoopback refuses a request that names a host other than this machine: a
// page whose name was rebound to a loopback address sends its own.
func (s *Server) onLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) {
			s.refuse(w, http.StatusForbidden, notRequest(nil, fmt.Sprintf("Host %.80q is not this server; use localhost or 127.0.0.1", r.Host)))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func loopback(hostport string) bool {
	host := hostport
	if name, _, err := net.SplitHostPort(hostport); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && address.IsLoopback()
}

// wellFormed refuses bodies that the SDK would mend, drop in part or answer
// without a JSON-RPC error.
func (s *Server) wellFormed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, task.MaxRequest))
		if over := (*http.MaxBytesError)(nil); errors.As(err, &over) {
			s.refuse(w, http.StatusRequestEntityTooLarge, tooLong(nil))
			return
		}
		if err != nil {
			s.refuse(w, http.StatusBadRequest, notParsed("the body could not be read"))
			return
		}
		if refusal := wellFormedBody(body); refusal != nil {
			s.refuse(w, http.StatusBadRequest, refusal)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

func wellFormedBody(body []byte) *refused {
	messages, batch, refusal := split(body)
	if refusal != nil {
		return refusal
	}
	seen := map[jsonrpc.ID]bool{} // however each is spelled: the SDK would answer one of two
	for _, message := range messages {
		if refusal := inspect(message, batch); refusal != nil {
			return refusal
		}
		decoded, err := jsonrpc.DecodeMessage(message)
		request, ok := decoded.(*jsonrpc.Request)
		if err != nil || !ok || !request.IsCall() {
			continue // the SDK answers it, if at all
		}
		if seen[request.ID] {
			return notRequest(nil, fmt.Sprintf("id %s is given twice", schema.Shortened(fmt.Sprint(request.ID.Raw()))))
		}
		seen[request.ID] = true
	}
	return nil
}

// refuse answers with a JSON-RPC error.
func (s *Server) refuse(w http.ResponseWriter, status int, refusal *refused) {
	s.observer.Refused(refusal.faultCode())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// A client that has gone cannot be told.
	_, _ = w.Write(append(refusal.encode(), '\n')) //nolint:gosec // G705: it is JSON, and says so
}
