// Package mcpserver puts the task gate and the registry on the wire as MCP tools,
// over stdio and over streamable HTTP, for every protocol version.
//
// It owns the wire: the schemas, the strict decoding of arguments, the shape and
// size of answers and refusals, and the survival of the process in front of
// hostile input. It knows no rule of the gate, no probe and no storage. Its one
// idea is that the raw bytes are looked at before any decoder can make them
// prettier, and that whatever goes wrong is answered and never ends the process.
package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

// Options are what a server is made from.
type Options struct {
	Version string       // of Countersign, told to clients
	Caller  task.Caller  // on whose behalf calls of the task gate over stdio are made
	Log     *slog.Logger // nil discards; it must never write to the stdout of a stdio server

	Tracer   trace.Tracer // of calls; nil for none
	Observer Observer     // nil for none
}

// Server serves one set of tools over MCP. It is safe for concurrent use.
type Server struct {
	tools   toolSet
	version string
	caller  task.Caller
	log     *slog.Logger
	tracer  trace.Tracer
	drains  time.Duration // drainLimit; tests shorten it
	beats   time.Duration // progressInterval; tests shorten it

	observer Observer
}

// toolSet is what a server offers.
type toolSet interface {
	// identity is what the server calls itself, without its version, and
	// instructions what a model is told of its tools as a whole.
	identity() mcp.Implementation
	instructions() string
	// addTo puts the tools on an endpoint of s on behalf of caller.
	addTo(endpoint *mcp.Server, s *Server, caller task.Caller)
}

// New returns a server of the task gate.
func New(operations task.Operations, options Options) *Server {
	return serverOf(taskGate{operations}, options)
}

// NewRegistry returns a server of the registry. Its calls are made on behalf of
// nobody in particular.
func NewRegistry(operations RegistryOperations, options Options) *Server {
	return serverOf(componentRegistry{operations, make(chan struct{}, maxProbing)}, options)
}

func serverOf(tools toolSet, options Options) *Server {
	log := options.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	made := &Server{
		tools: tools, version: options.Version, caller: options.Caller, log: log,
		tracer: options.Tracer, observer: options.Observer, drains: drainLimit, beats: progressInterval,
	}
	if made.tracer == nil {
		made.tracer = noop.Tracer{}
	}
	if made.observer == nil {
		made.observer = unobserved{}
	}
	return made
}

// endpoint returns the SDK's server with the tools on behalf of caller.
//
// Prompts and resources are declared although there are none: the SDK answers
// their lists, and a list that is answered has to be declared.
func (s *Server) endpoint(caller task.Caller) *mcp.Server {
	identity := s.tools.identity()
	identity.Version = s.version
	server := mcp.NewServer(&identity, &mcp.ServerOptions{
		Instructions: s.tools.instructions(),
		Capabilities: &mcp.ServerCapabilities{
			Tools:     &mcp.ToolCapabilities{},
			Prompts:   &mcp.PromptCapabilities{},
			Resources: &mcp.ResourceCapabilities{},
		},
	})
	server.AddReceivingMiddleware(s.guard)
	s.tools.addTo(server, s, caller)
	return server
}

// guard keeps a panic from ending the process, which the SDK does not, and sees
// to it that no error leaves without a JSON-RPC code.
func (s *Server) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				failed := fmt.Errorf("panic in %s: %v\n%s", method, cause, debug.Stack())
				result, err = s.broken(ctx, method, failed)
			}
		}()
		result, err = next(ctx, method, request)
		switch {
		case err == nil:
			return result, nil
		case strings.HasPrefix(method, "notifications/"):
			return nil, err // never answered
		case hasCode(err):
			s.observer.Refused("")
			return nil, err
		case method == "initialize":
			s.observer.Refused("")
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
		}
		return s.broken(ctx, method, err)
	}
}

// broken answers for a defect: a tool error to a tool call, else a protocol error.
func (s *Server) broken(ctx context.Context, method string, cause error) (mcp.Result, error) {
	hidden := s.hide(ctx, method, cause)
	s.observer.Refused(hidden.Code)
	if method == methodCall {
		return failure(hidden), nil
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: hidden.Message, Data: encode(hidden)}
}

// hide logs an error that is no fault in full and returns what is shown of it.
func (s *Server) hide(ctx context.Context, doing string, cause error) *fault.Error {
	reference := uuid.NewString()
	s.log.ErrorContext(ctx, "a call failed inside Countersign",
		"reference", reference, "doing", doing, "error", cause.Error())
	return fault.Hidden(reference)
}

// hasCode reports whether an error reaches the wire with a code of its own.
func hasCode(err error) bool {
	coded, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && coded.Code != 0
}
