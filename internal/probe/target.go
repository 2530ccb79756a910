// Package probe owns the examination of a component: one file per gate or kind
// of component, each turning what it saw into a result of the registry.
//
// It must not know what a result is used for, nor where targets come from. Its
// one idea is that every gate always runs and always has a result: a gate that
// fails, times out or panics is a failed gate, never an absent one.
package probe

import (
	"errors"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
)

// MCPServer is an MCP server that offers the three gates. ParseMCPServer makes one.
type MCPServer struct {
	Base         *url.URL // without a slash at its end
	Endpoint     *url.URL // where the server speaks MCP
	RequireTools []string // tools that g3 must find, apart from finding any
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
	server := MCPServer{Base: root}
	if endpoint == "" {
		server.Endpoint = server.at("mcp")
		return server, nil
	}
	server.Endpoint, err = parseAddress("the MCP endpoint", endpoint)
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
