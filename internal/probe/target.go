// Package probe owns the examination of a component: one file per gate or kind
// of component, each turning what it saw into a result of the registry.
//
// It must not know what a result is used for, nor where targets come from. Its
// one idea is that every gate always runs and always has a result: a gate that
// fails, times out or panics is a failed gate, never an absent one.
package probe

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// MCPServer is an MCP server to be probed. ParseMCPServer, ParseEndpoint,
// StartedServer and FromComponent make one.
type MCPServer struct {
	Name    string           // what it is called instead of its address; empty for none
	Profile registry.Profile // what its gates are

	Base     *url.URL // of the pages of the profile three-gates, without a slash at its end
	Endpoint *url.URL // where the server speaks MCP; nil for a process
	Command  []string // the program and its arguments, when there is no endpoint
	Env      map[string]registry.Secret
	Dir      string // the working directory of the process; empty for that of Countersign

	Timeout      time.Duration    // for each gate; 0 for the default
	RequireTools []string         // tools that g3 must find, apart from finding any
	ExpectServer string           // the name that the server must give itself; empty for any
	Canary       *registry.Canary // nil for none

	Credentials registry.Credentials // what the server demands of its callers
	Private     []registry.Secret    // what else of the target may be secret
}

// limit is the time for each gate.
func (s MCPServer) limit(settings Settings) time.Duration {
	return cmp.Or(settings.Timeout, s.Timeout, serverTimeout(s.Endpoint == nil))
}

// serverTimeout is the time for each gate where none is given. A server that has to
// be started first may take longer.
func serverTimeout(isStarted bool) time.Duration {
	if isStarted {
		return registry.SlowTimeout
	}
	return registry.QuickTimeout
}

// Title is what the server is called in results: its name, else its address
// without a query, else its command line up to the first argument that may hold
// a secret.
func (s MCPServer) Title() string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Endpoint == nil:
		return commandTitle(s.Command)
	case s.Profile == registry.Protocol:
		address := *s.Endpoint
		address.RawQuery, address.ForceQuery = "", false
		return address.String()
	}
	return s.Base.String()
}

func commandTitle(command []string) string {
	shown := []string{filepath.Base(command[0])}
	for _, argument := range command[1:] {
		if strings.HasPrefix(argument, "--") || strings.Contains(argument, "=") || strings.Contains(argument, "://") {
			shown = append(shown, "...")
			break
		}
		shown = append(shown, argument)
	}
	return registry.Shorten(strings.Join(shown, " "), maxTitle)
}

// maxTitle bounds the title of a command, in bytes.
const maxTitle = 120

// start is the command to start with the environment that it gets; the zero
// value for a server that is not started. An error is a *mcpwire.Failure.
func (s MCPServer) start(settings Settings) (mcpwire.Command, error) {
	if s.Endpoint != nil {
		return mcpwire.Command{}, nil
	}
	command := mcpwire.Command{
		Path: s.Command[0], Args: s.Command[1:], Dir: s.Dir, Redact: settings.outlet.Redactor.Clean,
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		value, err := s.Env[name].Reveal(settings.Resolve)
		if err != nil {
			return command, &mcpwire.Failure{Cause: registry.NotConfigured, Detail: registry.Shorten(
				fmt.Sprintf("the variable %s cannot be had: %v", name, err), registry.MaxDetail)}
		}
		settings.outlet.Redactor.Add(value)
		command.Env = append(command.Env, name+"="+value)
	}
	return command, nil
}

// ParseEndpoint reads the address of an MCP endpoint that is probed in the
// profile protocol. Fault: E_INVALID_ARGUMENT.
func ParseEndpoint(endpoint string) (MCPServer, error) {
	address, err := parseAddress("the URL", endpoint)
	if err != nil {
		return MCPServer{}, err
	}
	return MCPServer{Profile: registry.Protocol, Endpoint: address, Private: queryOf(address)}, nil
}

// queryOf is what the query of an address holds, since that may be a key.
func queryOf(address *url.URL) []registry.Secret {
	var private []registry.Secret
	for _, name := range slices.Sorted(maps.Keys(address.Query())) {
		for _, value := range address.Query()[name] {
			private = append(private, registry.SecretText(value))
		}
	}
	return private
}

// StartedServer is a server that is started for the probe, without a shell, and
// probed in the profile protocol. The command has at least one element.
func StartedServer(command []string) MCPServer {
	return MCPServer{Profile: registry.Protocol, Command: command}
}

// FromComponent is the server that a component of the kind mcp_server describes.
// Fault: E_INVALID_ARGUMENT.
func FromComponent(component *registry.Component) (MCPServer, error) {
	spec, ok := component.Spec.(*registry.MCPServer)
	if !ok {
		return MCPServer{}, fault.New(fault.InvalidArgument, "%s is of the kind %s, which is probed only as it is registered", component.Name, component.Kind()).
			WithHint("Leave out what changes the probe, or name a component of the kind %s.", registry.KindMCPServer)
	}
	return fromSpec(component, spec)
}

// fromSpec is FromComponent where the server is part of what the component is.
func fromSpec(component *registry.Component, spec *registry.MCPServer) (MCPServer, error) {
	server := MCPServer{Profile: registry.Protocol, Command: spec.Command}
	var err error
	switch {
	case spec.URL == "" && len(spec.Command) == 0:
		err = fault.New(fault.InvalidArgument, "%s has neither a URL nor a command", component.Name).
			WithHint("Give it one of them.")
	case spec.URL != "" && spec.Profile == registry.Protocol:
		server, err = ParseEndpoint(spec.URL)
	case spec.URL != "":
		server, err = ParseMCPServer(spec.URL, spec.MCPURL)
	}
	if err != nil {
		return MCPServer{}, err
	}
	server.Name, server.Timeout = component.Name, component.Timeout
	server.Env, server.Dir = spec.Env, spec.Dir
	server.RequireTools, server.ExpectServer, server.Canary = spec.RequireTools, spec.ExpectServer, spec.Canary
	server.Credentials, server.Private = spec.Credentials, spec.Private
	return server, nil
}

// ParseMCPServer reads the base address of the gates and the address of the MCP
// endpoint, which is BASE/mcp when it is empty. Fault: E_INVALID_ARGUMENT.
func ParseMCPServer(base, endpoint string) (MCPServer, error) {
	root, err := parseAddress("the URL", base)
	if err != nil {
		return MCPServer{}, err
	}
	if root.RawQuery != "" || root.ForceQuery {
		return MCPServer{}, fault.New(fault.InvalidArgument, "the URL has a query, but paths are added to it").
			WithHint("Give the address that /healthz, /test and /mcp follow; an MCP endpoint with a query goes to --mcp-url.")
	}
	root.Path, root.RawPath = strings.TrimRight(root.Path, "/"), strings.TrimRight(root.RawPath, "/")
	server := MCPServer{Profile: registry.ThreeGates, Base: root}
	if endpoint == "" {
		server.Endpoint = server.at("mcp")
		return server, nil
	}
	server.Endpoint, err = parseAddress("the MCP endpoint", endpoint)
	if err == nil {
		server.Private = queryOf(server.Endpoint)
	}
	return server, err
}

// at is the address of a path below the base.
func (s MCPServer) at(path string) *url.URL {
	address := *s.Base
	if address.RawPath != "" {
		address.RawPath += "/" + path
	}
	address.Path += "/" + path
	return &address
}

const addressHint = "Write it in full, such as http://127.0.0.1:8080."

// parseAddress quotes nothing of what it was given, since that may hold a key.
func parseAddress(what, text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		return nil, fault.New(fault.InvalidArgument, "%s has no scheme", what).WithHint(addressHint)
	}
	address, err := url.Parse(text)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return nil, fault.New(fault.InvalidArgument, "%s cannot be read: %v", what, err).WithHint(addressHint)
	}
	switch {
	case address.Scheme != "http" && address.Scheme != "https":
		return nil, fault.New(fault.InvalidArgument, "%s has the scheme %q, which cannot be probed", what, address.Scheme).
			WithHint("Use http or https.")
	case address.Hostname() == "":
		return nil, fault.New(fault.InvalidArgument, "%s names no host", what).WithHint(addressHint)
	case address.User != nil:
		return nil, fault.New(fault.InvalidArgument, "%s holds credentials, which no address may", what).
			WithHint("Leave out what stands before the @.")
	}
	address.Fragment, address.RawFragment = "", ""
	return address, nil
}
