package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/gates"
	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/front"
	"github.com/countersign-dev/countersign/internal/httpapi"
	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// defaultFrontListen is the port beside that of serve.
	defaultFrontListen = "127.0.0.1:8485"
	// frontTestTime is less than a probe waits, so that it hears what failed.
	frontTestTime = 8 * time.Second
)

type frontCommand struct {
	File      configFlag `embed:""`
	Listen    string     `help:"Address to listen on; port 0 takes a free one. By default that of the configuration file, else ${front_listen}." placeholder:"ADDR"`
	AllowHost []string   `help:"Name by which other machines call this server; may be repeated." placeholder:"NAME"`
	Name      string     `help:"What the gates and the client configuration call the server." default:"front" placeholder:"NAME"`
	Log       logFlags   `embed:""`
	Command   []string   `arg:"" help:"The stdio MCP server and its arguments, after --." name:"command"`
}

// Help is what front --help says beyond its one line.
func (*frontCommand) Help() string {
	return "Starts the server and serves its tools, resources and prompts at /mcp to many clients at once, and the gates at /healthz and /test. " +
		"/healthz fails while the server is down; one that ends is started again, at most every half minute. " +
		"/test asks it for its tools, and checks what front.test of the configuration file names. " +
		"SIGTERM or Ctrl-C ends both: calls in flight are finished first."
}

// Run serves until ctx is done.
func (c *frontCommand) Run(ctx context.Context, p *process) error {
	if !registry.IsName(c.Name) {
		return fault.New(fault.InvalidArgument, "--name %.80q is not a name", c.Name).
			With(fault.Field, "--name").
			WithHint("Use lower-case letters, digits, dots, dashes and underscores, at most 64.")
	}
	outliveReaders()
	log, err := c.Log.logger(p.Err)
	if err != nil {
		return err
	}
	loaded, err := c.File.load(p)
	if err != nil {
		return err
	}
	address, err := frontAddress(cmp.Or(c.Listen, loaded.Front.Listen, defaultFrontListen))
	if err != nil {
		return err
	}
	listener, err := listenOn(ctx, address)
	if err != nil {
		return err
	}
	fronted := front.New(front.Options{
		Command:  mcpwire.Command{Path: c.Command[0], Args: c.Command[1:], Redact: redactor(os.Environ())},
		Identity: mcpwire.Identity{Name: "countersign-front", Version: version},
		Log:      log,
	})
	served := frontedServer{Front: fronted, server: c.server(fronted, loaded.Front, log), listener: listener}
	begun := newFronting(c.Name, listener.Addr(), c.Command[0])
	if canary := loaded.Front.Canary; canary != nil {
		begun.Canary = canary.Tool
	}
	err = served.run(ctx, func() error {
		log.InfoContext(ctx, "serving", slog.String("url", begun.URL))
		return begun.print(p)
	})
	if err != nil {
		return err
	}
	log.InfoContext(context.WithoutCancel(ctx), "ended")
	return nil
}

func (c *frontCommand) server(fronted *front.Front, told config.Front, log *slog.Logger) *httpapi.Server {
	return httpapi.New(httpapi.Options{
		Service:      c.Name,
		Version:      version,
		MCP:          fronted,
		Dependencies: frontDependencies(fronted, told),
		TestTime:     frontTestTime,
		Alive:        fronted.Alive,
		Public:       true,
		Hosts:        c.AllowHost,
		Log:          log,
	})
}

// frontedServer is a front and the server before it.
type frontedServer struct {
	*front.Front

	server   *httpapi.Server
	listener net.Listener
}

// run runs both, and announces them once the child could be started. The child
// outlives the server, which has calls to finish.
func (s frontedServer) run(ctx context.Context, announce func() error) error {
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var group errgroup.Group
	group.Go(func() error { return unstartable(s.Run(living)) })
	group.Go(func() error {
		defer end()
		if !s.Started() {
			return s.listener.Close()
		}
		if err := announce(); err != nil {
			return errors.Join(err, s.listener.Close())
		}
		return s.server.Run(ctx, s.listener)
	})
	return group.Wait()
}

// unstartable is the fault of a command that cannot be started.
func unstartable(err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.Unavailable, "the server cannot be started: %v", err).
		WithHint("Give a program and its arguments after --, as a shell would find it.")
}

// frontDependencies is what /test proves: that the child lists tools, and what
// the configuration names. The names of the configuration hold no slash.
func frontDependencies(fronted *front.Front, told config.Front) []gates.Dependency {
	list := gates.DetailFunc(fronted.ProveTools)
	if told.Canary == nil {
		list = uncalled(list)
	}
	made := []gates.Dependency{gates.Required("tools/list", list)}
	if told.Canary != nil {
		made = append(made, gates.Required("tools/call "+told.Canary.Tool, gates.Func(fronted.ProveCanary(*told.Canary))))
	}
	add := func(name string, optional bool, kind gates.Kind) {
		if optional {
			made = append(made, gates.Optional(name, kind))
			return
		}
		made = append(made, gates.Required(name, kind))
	}
	for _, each := range told.Executables {
		add(each.Name, each.Optional, gates.Executable{
			Path: each.Path, Args: each.Args, ExitCode: each.ExitCode, Match: each.Matches, MinVersion: each.MinVersion,
		})
	}
	for _, each := range told.HTTP {
		add(each.Name, each.Optional, gates.HTTP{URL: each.URL, Status: each.Status})
	}
	return made
}

// uncalled has a list of tools say that no more is known of them.
func uncalled(list gates.DetailFunc) gates.DetailFunc {
	return func(ctx context.Context) (string, error) {
		listed, err := list(ctx)
		return listed + "; no canary is configured, so none was called", err
	}
}

// frontAddress reads an address to listen on, on loopback or not.
func frontAddress(listen string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(listen)
	switch host {
	case "localhost":
		host = "127.0.0.1"
	case "":
		host = "0.0.0.0"
	}
	address, parseErr := netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil || parseErr != nil {
		return netip.AddrPort{}, fault.New(fault.InvalidArgument, "%q is not an address with a port to listen on", listen).
			With(fault.Field, "--listen").
			WithHint("Give one like %s.", defaultFrontListen)
	}
	return address, nil
}

var secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(key|token|secret|passw|credential|auth)`) })

// minRedacted keeps short words such as "true" from being taken for secrets.
const minRedacted = 8

// redactor blots out the values of variables that are named like secrets, which
// the child inherits and may print.
func redactor(environment []string) func(string) string {
	var pairs []string
	for _, variable := range environment {
		name, value, _ := strings.Cut(variable, "=")
		if len(value) >= minRedacted && secretName().MatchString(name) {
			pairs = append(pairs, value, "["+name+"]")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

// warnOfStrangers says what it means that other machines can connect.
func warnOfStrangers(out io.Writer, address net.Addr) error {
	_, err := fmt.Fprintf(out, "countersign: warning: %s is reachable from other machines, and whoever reaches it may call every tool.\n"+
		"  Nobody is authenticated. Clients that use a host name need --allow-host NAME.\n", address)
	return err
}
