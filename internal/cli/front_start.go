package cli

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/httpapi"
)

// fronting is what front tells when it has begun; as one line of JSON with --json.
type fronting struct {
	Event   string        `json:"event"` // always "serving"
	Version string        `json:"version"`
	Name    string        `json:"name"`
	Program string        `json:"program"` // of the child, without its folder and arguments
	URL     string        `json:"url"`
	MCP     string        `json:"mcp_url"`
	Healthz string        `json:"healthz_url"`
	Test    string        `json:"test_url"`
	Public  bool          `json:"public"`           // other machines can reach it
	Canary  string        `json:"canary,omitempty"` // the tool that /test calls
	Clients frontedClient `json:"clients"`

	address    net.Addr
	everywhere bool // it listens on all addresses, and URL is that of loopback
}

// frontedClient is a configuration of MCP clients, ready to paste.
type frontedClient struct {
	HTTP struct {
		Servers map[string]clientServer `json:"mcpServers"`
	} `json:"http"`
}

// newFronting describes a front at an address.
func newFronting(name string, address net.Addr, program string) fronting {
	tcp, isTCP := address.(*net.TCPAddr)
	everywhere := isTCP && tcp.IP.IsUnspecified()
	reached := address.String()
	if everywhere {
		reached = net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	url := "http://" + reached
	begun := fronting{
		Event:   "serving",
		Version: version,
		Name:    name,
		Program: filepath.Base(program),
		URL:     url,
		MCP:     url + httpapi.PathMCP,
		Healthz: url + httpapi.PathHealthz,
		Test:    url + httpapi.PathTest,
		Public:  isTCP && !tcp.IP.IsLoopback(),
		address: address, everywhere: everywhere,
	}
	begun.Clients.HTTP.Servers = map[string]clientServer{name: {Type: "http", URL: begun.MCP}}
	return begun
}

func (f fronting) print(p *process) error {
	var err error
	if f.Public {
		err = warnOfStrangers(p.Err, f.address)
	}
	switch {
	case err != nil:
	case p.JSON:
		err = printJSON(p.Out, f)
	default:
		_, err = io.WriteString(p.Out, f.text(painterFor(p.Out, p.Getenv)))
	}
	if err != nil {
		return fmt.Errorf("print where the front is: %w", err)
	}
	return nil
}

func (f fronting) text(paint painter) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s stands in front of %s.\n\n", paint.bold("Countersign"), f.Version, visible(f.Program))
	fmt.Fprintf(&out, "  MCP       %s\n", f.MCP)
	fmt.Fprintf(&out, "  healthz   %s  %s\n", f.Healthz, paint.dim("does the server run?"))
	fmt.Fprintf(&out, "  test      %s     %s\n", f.Test, paint.dim("does it work?"))
	if f.everywhere {
		out.WriteString("\nIt listens on all addresses of this machine; other machines reach it by one of those instead of 127.0.0.1.\n")
	}
	fmt.Fprintf(&out, "\n%s\n\n{\n  \"mcpServers\": {\n    %s: {\n      \"type\": \"http\",\n      \"url\": %s\n    }\n  }\n}\n",
		paint.bold("Client configuration:"), quotedJSON(f.Name), quotedJSON(f.MCP))
	fmt.Fprintf(&out, "\nDo not take its word for it: %s\n", paint.bold("countersign probe "+f.URL))
	if f.Canary == "" {
		out.WriteString("No canary is declared, so /test only has the tools listed and calls none: front.test in countersign.yaml names one.\n")
	}
	fmt.Fprintf(&out, "%s\n\n", paint.dim("Ctrl-C ends it, and the server."))
	return out.String()
}
