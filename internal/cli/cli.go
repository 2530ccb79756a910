// Package cli owns the commands. It is the only place where the parts are
// joined; what a command does lives in the part, what it prints lives here.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/countersign-dev/countersign/internal/fault"
)

// programName is what the binary is called.
const programName = "countersign"

// Exit codes: the one rule of every command.
const (
	exitYes = 0 // the answer is yes
	exitNo  = 1 // the answer is no: a refused claim or verdict, a failed probe
	exitAsk = 2 // the question could not be asked: usage, configuration, I/O, a probe that is undecided
)

// Surroundings is all that a command may touch of the process it runs in.
type Surroundings struct {
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
	Getenv func(string) string
}

// flags are those of every command.
type flags struct {
	JSON    bool        `help:"Print JSON on standard output instead of text." name:"json"`
	Version versionFlag `help:"Print the version, as the command version does." name:"version"`
}

// command is one command of the command line. Its grammar is a struct in a file
// of its own with a Run(ctx, *process) error method, or with commands below it.
type command struct {
	name    string
	help    string
	grammar any
	tags    []string
}

// commands is the whole command line.
func commands() []command {
	return []command{
		{name: "mcp", help: "Serve the task gate, or the registry, to one MCP client over stdio.", grammar: &mcpCommand{}},
		{name: "task", help: "Create tasks, claim them done, give verdicts, show and list them.", grammar: &taskCommand{}},
		{name: "serve", help: "Serve the task gate and the registry over HTTP, on this machine, and patrol.", grammar: &serveCommand{}},
		{name: "preflight", help: "Ask whether a run may start: probe every slot of it now.", grammar: &preflightCommand{}},
		{name: "component", help: "List and show registered components; accept changed tools.", grammar: &componentCommand{}},
		{name: "probe", help: "Run the three gates of an MCP server once, now.", grammar: &probeCommand{}},
		{name: "front", help: "Put the gates in front of an MCP server that speaks over stdio.", grammar: &frontCommand{}},
		{name: "healthcheck", help: "Ask whether a server is alive (gate healthz), for containers.", grammar: &healthcheckCommand{}},
		{name: "config", help: "Check the configuration file.", grammar: &configCommand{}},
		{name: "demo", help: "Tell the story of both halves on real processes, in a few seconds.", grammar: &demoCommand{}},
		{name: "demo-scanner", help: "The MCP server that the demo probes.", grammar: &demoScannerCommand{}, tags: []string{`hidden:""`}},
		{name: "completion", help: "Make a shell complete commands, flags and names.", grammar: &completionCommand{}},
		{name: "help", help: "Show the help of a command.", grammar: &helpCommand{}},
		{name: "version", help: "Print version, commit and protocol versions.", grammar: &versionCommand{}},
	}
}

// named returns the commands that args may mean: the one that they begin with,
// so that starting one costs nothing for the grammar of the others, or all.
func named(args []string) []command {
	all := commands()
	for i := range all {
		if len(args) > 0 && args[0] == all[i].name {
			return all[i : i+1]
		}
	}
	return all
}

// process is what Run gets: the surroundings and the flags of all commands.
type process struct {
	Surroundings
	JSON bool

	afterDashes []string // the arguments behind --; nil when there is no --
}

// errNo is returned by a command that has printed its answer, which is no.
var errNo = errors.New("the answer is no")

// Main runs one command and returns the exit code.
func Main(ctx context.Context, args []string, around Surroundings) int {
	var root flags
	known := named(args)
	if isCompletion(args, around) {
		known = commands()
	}
	parser, err := newParser(&root, known, around)
	if err != nil {
		return report(around, false, err)
	}
	return run(ctx, parser, &root, args, around)
}

// newParser returns the parser of a command line with these commands.
func newParser(root *flags, known []command, around Surroundings) (*kong.Kong, error) {
	options := []kong.Option{
		kong.Name(programName),
		kong.Description("A claim counts only when something other than the claimant has checked it."),
		kong.Writers(around.Out, around.Err),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.Vars{"listen": defaultListen, "front_listen": defaultFrontListen},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.WithHyphenPrefixedParameters(true),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(durationOf)),
	}
	for _, c := range known {
		options = append(options, kong.DynamicCommand(c.name, c.help, "", c.grammar, c.tags...))
	}
	return kong.New(root, options...)
}

// exited carries kong's wish to end the process (after --help) out of Parse.
type exited int

func run(ctx context.Context, parser *kong.Kong, root *flags, args []string, around Surroundings) (code int) {
	defer func() {
		if left := recover(); left != nil {
			wish, ok := left.(exited)
			if !ok {
				panic(left)
			}
			code = int(wish)
		}
	}()
	if isCompletion(args, around) {
		completing{around}.complete(parser)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		// A command line that cannot be read leaves root unset.
		asJSON := slices.Contains(args, "--json")
		if !asJSON && showUsage(err, args, around.Err) {
			return exitAsk
		}
		return report(around, asJSON, misused(err))
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	begun := &process{Surroundings: around, JSON: root.JSON}
	if dashes := slices.Index(args, "--"); dashes >= 0 {
		begun.afterDashes = args[dashes+1:]
	}
	if err := parsed.Run(begun); err != nil {
		return report(around, root.JSON, err)
	}
	return exitYes
}

// outliveReaders keeps a server going when whoever reads its log has left: the
// first line written after that would end the process, on standard output or
// error. A client that has left is told by the write that fails. The signal is
// received rather than ignored, because a child would inherit that.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// report prints why a command failed and returns its exit code. With --json a
// fault goes to standard output in the shape of a tool error, or else, when that
// cannot be written, to standard error as text.
func report(around Surroundings, asJSON bool, err error) int {
	switch {
	case errors.Is(err, errNo):
		return exitNo
	case errors.Is(err, errUndecided):
		return exitAsk
	}
	coded, ok := fault.Of(err)
	if !ok {
		coded = fault.New(fault.Internal, "%v", err)
	}
	if asJSON {
		if printJSON(around.Out, coded) == nil {
			return exitCode(coded.Code)
		}
	}
	told := fmt.Sprintf("countersign: %s: %s\n", coded.Code, visible(coded.Message))
	if coded.Hint != "" {
		told += fmt.Sprintf("  %s\n", visible(coded.Hint))
	}
	_, _ = io.WriteString(around.Err, painterFor(around.Err, around.Getenv).fold(told))
	return exitCode(coded.Code)
}

// exitCode is the one mapping of faults to exit codes.
func exitCode(code fault.Code) int {
	switch code {
	case fault.SelfVerify, fault.WrongState, fault.AlreadySuperseded, fault.IdentityMismatch,
		fault.IdempotencyConflict, fault.EmptyCriteria, fault.EmptyEvidence, fault.MissingNotes:
		return exitNo
	case fault.NotFound, fault.InvalidAgentID, fault.InvalidArgument, fault.TooLarge,
		fault.Unavailable, fault.Internal:
		return exitAsk
	}
	return exitAsk
}
