package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/gates"
)

// demoScannerCommand is the MCP server that the demo probes: a scanner whose
// one tool is a program on disk, with the three gates on it by the public kit.
type demoScannerCommand struct {
	Name string `required:"" help:"The server's name."`
	Tool string `required:"" help:"The program that the server exists for."`
}

// Run serves on a free loopback port, prints the address and ends with ctx.
func (c demoScannerCommand) Run(ctx context.Context, p *process) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on loopback: %w", err)
	}
	server := &http.Server{Handler: c.handler(), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Fprintf(p.Out, "http://%s\n", listener.Addr())
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = errors.Join(server.Close(), <-ended)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (c demoScannerCommand) handler() http.Handler {
	scanner := mcp.NewServer(&mcp.Implementation{Name: c.Name, Version: version}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	type scan struct {
		Host string `json:"host" jsonschema:"the host to scan"`
	}
	mcp.AddTool(scanner, &mcp.Tool{Name: "scan_ports", Description: "Scan the ports of a host."},
		func(context.Context, *mcp.CallToolRequest, scan) (*mcp.CallToolResult, any, error) {
			return nil, nil, errors.New("the demo's scanner scans nothing")
		})
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return scanner }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	gates.Mount(mux, gates.Options{
		Service: c.Name, Version: version,
		Dependencies: []gates.Dependency{gates.Required(demoTool, gates.Executable{Path: c.Tool, Args: []string{"version"}})},
	})
	return mux
}
