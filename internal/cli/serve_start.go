package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/httpapi"
	"github.com/countersign-dev/countersign/internal/web"
)

// serving is what serve tells when it has begun; as one line of JSON with --json.
type serving struct {
	Event    string  `json:"event"` // always "serving"
	Version  string  `json:"version"`
	URL      string  `json:"url"`
	MCP      string  `json:"mcp_url"`
	Healthz  string  `json:"healthz_url"`
	Test     string  `json:"test_url"`
	Registry string  `json:"registry_mcp_url"`
	Metrics  string  `json:"metrics_url"`
	OpenAPI  string  `json:"openapi_url"`
	Database string  `json:"database"` // without password and options
	Clients  clients `json:"clients"`

	Config     string `json:"config,omitempty"` // the configuration file
	Components int    `json:"components"`       // that it registers

	lookedFor             []string // where no configuration file is
	forTasks, forRegistry string   // what the commands that pages print are given: see web.Options
}

// clients holds configurations of MCP clients, ready to paste.
type clients struct {
	HTTP  clientConfiguration `json:"http"`
	Stdio clientConfiguration `json:"stdio"`
}

// clientConfiguration is the shape that MCP clients share.
type clientConfiguration struct {
	Servers struct {
		Countersign clientServer `json:"countersign"`
	} `json:"mcpServers"`
}

type clientServer struct {
	Type    string   `json:"type,omitempty"`
	URL     string   `json:"url,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
}

// newServing describes a server at an address. The stdio form names the
// installed binary, and the database only when it is not the default one.
func newServing(address net.Addr, database string, chosen bool) serving {
	url := "http://" + address.String()
	begun := serving{
		Event:    "serving",
		Version:  version,
		URL:      url,
		MCP:      url + httpapi.PathMCP,
		Healthz:  url + httpapi.PathHealthz,
		Test:     url + httpapi.PathTest,
		Registry: url + httpapi.PathRegistry,
		Metrics:  url + httpapi.PathMetrics,
		OpenAPI:  url + httpapi.PathOpenAPI,
		Database: database,
	}
	stdio := clientServer{Command: "countersign", Args: []string{"mcp", "--agent-id", "devops"}}
	if chosen {
		stdio.Args = append(stdio.Args, "--db", database)
		begun.forTasks = databaseArgument(database)
	}
	begun.Clients.HTTP.Servers.Countersign = clientServer{Type: "http", URL: begun.MCP}
	begun.Clients.Stdio.Servers.Countersign = stdio
	return begun
}

// registering adds what a configuration file registers, or in which places there
// is none.
func (s serving) registering(loaded *config.Config, places []string) serving {
	s.Config, s.Components = loaded.File, len(loaded.Components)
	if s.Config == "" {
		s.lookedFor = places
	}
	return s
}

// registryClients are configurations of orchestrators for the page. Over standard
// input and output they name the file and the database, since a client starts
// servers elsewhere.
func (s serving) registryClients() web.RegistryClients {
	clients := web.RegistryClients{OverHTTP: pasted("registry", clientServer{Type: "http", URL: s.Registry})}
	if s.Config == "" {
		return clients
	}
	file, err := filepath.Abs(s.Config)
	if err != nil {
		file = s.Config
	}
	clients.OverStdio = pasted("registry", clientServer{
		Command: "countersign", Args: []string{"mcp", "--registry", "--config", file, "--db", s.Database},
	})
	return clients
}

// String is the configuration as JSON for people to paste.
func (c clientConfiguration) String() string { return pasted("countersign", c.Servers.Countersign) }

// pasted is the configuration of one server as JSON for people to paste.
func pasted(name string, server clientServer) string {
	first, second := `"type": `+quotedJSON(server.Type), `"url": `+quotedJSON(server.URL)
	if server.Command != "" {
		args := make([]string, 0, len(server.Args))
		for _, arg := range server.Args {
			args = append(args, quotedJSON(arg))
		}
		first, second = `"command": `+quotedJSON(server.Command), `"args": [`+strings.Join(args, ", ")+`]`
	}
	return fmt.Sprintf("{\n  \"mcpServers\": {\n    %s: {\n      %s,\n      %s\n    }\n  }\n}", quotedJSON(name), first, second)
}

// quotedJSON is text as a JSON string that reads as it is: <, > and & stay.
func quotedJSON(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string always encodes
	return strings.TrimSuffix(out.String(), "\n")
}

func (s serving) print(p *process) error {
	var err error
	if p.JSON {
		err = printJSON(p.Out, s)
	} else {
		_, err = io.WriteString(p.Out, s.text(painterFor(p.Out, p.Getenv)))
	}
	if err != nil {
		return fmt.Errorf("print where the server is: %w", err)
	}
	return nil
}

// log tells the log that the server has begun.
func (s serving) log(ctx context.Context, log *slog.Logger) {
	log.InfoContext(ctx, "serving", slog.String("url", s.URL), slog.String("database", s.Database),
		slog.String("config", s.Config), slog.Int("components", s.Components))
	if s.Config == "" {
		log.InfoContext(ctx, "there is no configuration file, so nothing is probed and nobody alerted; one that is made later needs a restart",
			slog.Any("looked_for", s.lookedFor))
	}
}

func (s serving) text(paint painter) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s is serving on this machine.\n\n", paint.bold("Countersign"), s.Version)
	width := max(len(s.Registry), len(s.OpenAPI))
	noted := func(name, address, text string) {
		column := len("  healthz   ") + width + 2
		fmt.Fprintf(&out, "  %-8s  %-*s  %s\n", name, width, address, paint.dim(paint.foldFrom(text, column, column)))
	}
	noted("pages", s.URL+"/", "what waits, what works, who verifies whom")
	noted("MCP", s.MCP, "tasks")
	noted("", s.Registry, "components: may a run start?")
	noted("API", s.OpenAPI, "the same for programs")
	noted("healthz", s.Healthz, "is the process alive?")
	noted("test", s.Test, "does it work? writes to the database and reads it back")
	patrol := counted(s.Components, "component") + " of " + visible(s.Config)
	if s.Config == "" {
		patrol = "no configuration file, so nothing is probed: looked for " + visible(strings.Join(s.lookedFor, " and ")) +
			"; one that is made later needs a restart"
	}
	fmt.Fprintf(&out, "  patrol    %s\n", paint.foldFrom(patrol, len("  patrol    "), len("  patrol    ")))
	noted("metrics", s.Metrics, "for Prometheus")
	fmt.Fprintf(&out, "  database  %s\n", paint.foldFrom(visible(s.Database), len("  database  "), len("  database  ")))
	fmt.Fprintf(&out, "\n%s\n\n%s\n", paint.bold("Client configuration, over HTTP:"), s.Clients.HTTP)
	fmt.Fprintf(&out, "\n%s\n\n%s\n", paint.bold(paint.fold("Or let the client start the installed binary, locked to one agent (give each its own id):")), visible(s.Clients.Stdio.String()))
	if strings.HasPrefix(s.Database, "postgres") {
		out.WriteString(paint.fold("\nThe URL is shown without password and options; give them to the client by PGPASSWORD and the like.\n"))
	}
	fmt.Fprintf(&out, "\nDo not take its word for it: %s\n", paint.bold("countersign probe "+s.URL))
	fmt.Fprintf(&out, "%s\n\n", paint.dim("Ctrl-C ends it."))
	return out.String()
}
