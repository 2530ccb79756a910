package cli

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/countersign-dev/countersign/internal/fault"
)

// helpCommand is --help for those who type it first.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command, such as task claim." name:"command"`
}

// Run ends with the help of the command, as its --help does.
func (c *helpCommand) Run(p *process) error {
	parser, err := newParser(&flags{}, named(c.Command), p.Surroundings)
	if err != nil {
		return err
	}
	_, err = parser.Parse(append(slices.Clone(c.Command), "--help"))
	return misused(err)
}

// versionFlag is the command version as a flag.
type versionFlag bool

// BeforeReset prints the version and ends the process, whatever else is given.
func (versionFlag) BeforeReset(parsed *kong.Context) error {
	if err := printVersion(parsed.Stdout, slices.Contains(parsed.Args, "--json")); err != nil {
		return err
	}
	parsed.Exit(exitYes)
	return nil
}

// misused is the fault of a command line that cannot be read; its hint is the
// help of the command that was meant.
func misused(err error) error {
	meant := "countersign"
	if unread, ok := errors.AsType[*kong.ParseError](err); ok && unread.Context != nil {
		if command := unread.Context.Selected(); command != nil {
			meant = command.FullPath()
		}
	}
	return fault.New(fault.InvalidArgument, "%v", err).WithHint("See %s --help.", meant)
}

// showUsage prints the usage when the arguments only lead to commands and name
// none, as in countersign task, and reports whether they do.
func showUsage(err error, args []string, out io.Writer) bool {
	unread, ok := errors.AsType[*kong.ParseError](err)
	if !ok || unread.Context == nil {
		return false
	}
	reached := "countersign"
	if group := unread.Context.Selected(); group != nil {
		if group.Leaf() {
			return false
		}
		reached = group.FullPath()
	}
	if strings.Join(append([]string{"countersign"}, args...), " ") != reached {
		return false
	}
	unread.Context.Stdout = out
	return unread.Context.PrintUsage(false) == nil
}

// durationOf reads the value of a flag that is a time.
func durationOf(ctx *kong.DecodeContext, target reflect.Value) error {
	given, err := ctx.Scan.PopValue("duration")
	if err != nil {
		return err
	}
	read, err := time.ParseDuration(given.String())
	if err != nil {
		return fmt.Errorf("%q is not a time: give a number with a unit, such as 10s", given.String())
	}
	target.SetInt(int64(read))
	return nil
}
