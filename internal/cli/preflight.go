package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

type preflightCommand struct {
	Registry registryFlags    `embed:""`
	Name     string           `arg:"" optional:"" help:"The run; it may be left out when the configuration file names only one." name:"run" predictor:"run"`
	Ticket   *string          `help:"Write the signed ticket to this file, if the run may start; a file that is there is replaced then, and only then." placeholder:"FILE"`
	Check    *string          `help:"Hold a ticket against the present instead: probe its components again, and say whether they are what it says. - reads it from standard input." placeholder:"TICKET"`
	Past     preflightHistory `embed:""`
}

// Help is what preflight --help says beyond its one line.
func (*preflightCommand) Help() string {
	return "Every component of every slot is probed, all at once. 0: the run may start; a start on a fallback, or without an optional slot, is " +
		"announced. 1: refused, since nothing healthy is behind a required slot, or it is undecided whether anything is. 2: the question could not be asked. " +
		"With --check, 0: the ticket holds; 1: its signature is not that of this user's key, or a component fails or is not what it was; " +
		"2: it cannot be read. With --history, 0 whatever they were."
}

// Run says whether a run may start, whether a ticket holds, or what was said before.
func (c *preflightCommand) Run(ctx context.Context, p *process) error {
	if err := c.checkHistory(); err != nil {
		return err
	}
	switch {
	case c.Past.History:
		return c.history(ctx, p)
	case c.Check != nil:
		return c.check(ctx, p)
	}
	if c.Ticket != nil {
		if err := refuseTicketFile(*c.Ticket); err != nil {
			return err
		}
	}
	loaded, err := c.Registry.load(p)
	if err != nil {
		return err
	}
	return c.Registry.recording(ctx, p, loaded, func(examined *examining) error {
		run, err := c.run(examined, "that is to start")
		if err != nil {
			return err
		}
		stop := showProgress(ctx, p.Err, "probing the components of "+visible(run))
		made, err := examined.Preflight(ctx, run)
		stop()
		if err != nil {
			return err
		}
		return c.tell(p, &made, examined.flags)
	})
}

// run is the run that is named, else the only one there is. What it is for completes the
// sentence that asks for the name.
func (c *preflightCommand) run(examined *examining, what string) (string, error) {
	runs := examined.loaded.Runs
	switch {
	case c.Name != "":
		return c.Name, nil
	case len(runs) == 1:
		return runs[0].Name, nil
	case len(runs) == 0:
		return "", fault.New(fault.NotFound, "%s names no run", examined.loaded.File).
			WithHint("Declare its slots under slots, and the run with them under runs.")
	}
	names := make([]string, len(runs))
	for i := range runs {
		names[i] = runs[i].Name
	}
	return "", fault.New(fault.InvalidArgument, "name the run %s", what).
		With(fault.Field, "run").WithHint("The runs of %s are %s.", examined.loaded.File, strings.Join(names, ", "))
}

// tell writes the ticket and prints the answer.
func (c *preflightCommand) tell(p *process, made *registry.Preflight, flags string) error {
	if c.Ticket != nil && made.Ticket != nil {
		if err := writeTicket(*c.Ticket, made.Ticket); err != nil {
			return err
		}
	}
	var err error
	if p.JSON {
		err = printJSON(p.Out, made)
	} else {
		err = c.print(p, made, flags)
	}
	if older := c.older(made); p.JSON && older != "" {
		err = errors.Join(err, warn(p, older))
	}
	if err != nil {
		return fmt.Errorf("print the preflight: %w", err)
	}
	if !made.Allowed {
		return errNo
	}
	return nil
}

// older says that the file of the ticket has one of before, since there is none now;
// else it is empty.
func (c *preflightCommand) older(made *registry.Preflight) string {
	if c.Ticket == nil || made.Ticket != nil {
		return ""
	}
	return olderTicket(*c.Ticket)
}

// print prints the text for people; what a start has to put up with goes to
// standard error too, unless both are the terminal that has just shown it.
func (c *preflightCommand) print(p *process, made *registry.Preflight, flags string) error {
	paint := painterFor(p.Out, p.Getenv)
	text := preflightText(made, paint)
	if c.Ticket != nil && made.Ticket != nil {
		text += paint.dim(paint.fold("The ticket is in "+visible(*c.Ticket))) + "\n"
	}
	if older := c.older(made); older != "" {
		text += paint.yellow(paint.fold(older)) + "\n"
	}
	text += afterPreflight(made, flags, paint)
	if _, err := io.WriteString(p.Out, text); err != nil {
		return err
	}
	if isTerminal(p.Out) && isTerminal(p.Err) {
		return nil
	}
	for _, warning := range startWarnings(made) {
		if err := warn(p, warning); err != nil {
			return err
		}
	}
	return nil
}

// warn tells on standard error what does not keep a command from its answer.
func warn(p *process, warning string) error {
	loud := painterFor(p.Err, p.Getenv)
	_, err := io.WriteString(p.Err, loud.yellow(loud.fold("countersign: warning: "+warning))+"\n")
	return err
}

// check holds a ticket against the present.
func (c *preflightCommand) check(ctx context.Context, p *process) error {
	if c.Name != "" || c.Ticket != nil {
		return fault.New(fault.InvalidArgument, "with --check there is neither a run nor --ticket: the ticket says what it is about").
			With(fault.Field, "--check").WithHint("Give --check TICKET alone.")
	}
	if *c.Check == "" {
		return fault.New(fault.InvalidArgument, "--check names no ticket").
			With(fault.Field, "--check").WithHint("Name the file that preflight --ticket has written.")
	}
	document, err := readBounded(p.In, *c.Check, registry.MaxTicketBytes+1)
	if err != nil {
		return fault.New(fault.Unavailable, "cannot read the ticket %s: %v", *c.Check, config.WithoutPath(err)).
			With(fault.Field, "--check").WithHint("Name the file that preflight --ticket has written.").WithCause(err)
	}
	loaded, err := c.Registry.load(p)
	if err != nil {
		return err
	}
	return c.Registry.recording(ctx, p, loaded, func(examined *examining) error {
		stop := showProgress(ctx, p.Err, "probing the components of the ticket")
		report, err := examined.Check(ctx, []byte(document))
		stop()
		if err != nil {
			return err
		}
		if p.JSON {
			err = printJSON(p.Out, report)
		} else {
			paint := painterFor(p.Out, p.Getenv)
			_, err = io.WriteString(p.Out, ticketText(&report, paint)+afterCheck(&report, examined.flags, time.Now(), paint))
		}
		switch {
		case err != nil:
			return fmt.Errorf("print whether the ticket holds: %w", err)
		case !report.Holds:
			return errNo
		}
		return nil
	})
}

// refuseTicketFile tells before anything is probed that a ticket cannot be put
// there. Faults: InvalidArgument, NotFound.
func refuseTicketFile(file string) error {
	refused := func(code fault.Code, format string, args ...any) error {
		return fault.New(code, "--ticket: "+format, args...).With(fault.Field, "--ticket").
			WithHint("Name a file for the ticket; --json prints it as part of the answer.")
	}
	if file == "" {
		return refused(fault.InvalidArgument, "no file is named")
	}
	if isMissing(filepath.Dir(file)) {
		return refused(fault.NotFound, "there is no folder %s", filepath.Dir(file))
	}
	found, err := os.Lstat(file)
	if err == nil && !found.Mode().IsRegular() {
		return refused(fault.InvalidArgument, "%s is there and is not a regular file, so it cannot be replaced", file)
	}
	return nil
}

// writeTicket puts a ticket in place, whole and at once, for this user alone to
// read. Fault: Unavailable.
func writeTicket(file string, ticket *registry.Ticket) error {
	document, err := json.Marshal(ticket)
	if err != nil {
		return fmt.Errorf("write the ticket as JSON: %w", err)
	}
	if err := replaceFile(file, append(document, '\n')); err != nil {
		return fault.New(fault.Unavailable, "the run may start, but its ticket cannot be written to %s: %v", file, config.WithoutPath(err)).
			With(fault.Field, "--ticket").WithHint("Check the rights to the folder, and its space.").WithCause(err)
	}
	return nil
}

// replaceFile puts content into a file, with the mode 0600, so that whoever reads
// it finds either all of the content or what was there before.
func replaceFile(file string, content []byte) error {
	draft, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	_, err = draft.Write(content)
	if err = errors.Join(err, draft.Sync(), draft.Close()); err == nil {
		err = os.Rename(draft.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	return nil
}
