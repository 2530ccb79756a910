package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// preflightHistory is what lists preflights that were kept.
type preflightHistory struct {
	History bool   `help:"Show the preflights of the run that were kept instead, the newest first; nothing is probed."`
	Limit   *int   `help:"With --history, at most this many, from 1 to 100; 20 if not given." placeholder:"N"`
	Cursor  string `help:"With --history, go on after the page whose next_cursor this is." placeholder:"CURSOR"`
}

// checkHistory refuses flags that do not go together. Fault: InvalidArgument.
func (c *preflightCommand) checkHistory() error {
	refused := func(flag, why string) error {
		return fault.New(fault.InvalidArgument, "%s %s", flag, why).With(fault.Field, flag).WithHint("Give [RUN] --history, alone or with --limit or --cursor.")
	}
	past := &c.Past
	switch {
	case past.History && (c.Ticket != nil || c.Check != nil):
		return refused("--history", "shows what is kept, without --ticket or --check")
	case !past.History && past.Limit != nil:
		return refused("--limit", "is of --history")
	case !past.History && past.Cursor != "":
		return refused("--cursor", "is of --history")
	case past.Limit != nil && (*past.Limit < 1 || *past.Limit > registry.MaxPage):
		return refused("--limit", fmt.Sprintf("is %d; it must be from 1 to %d", *past.Limit, registry.MaxPage))
	}
	return nil
}

// history shows the preflights of a run that were kept.
func (c *preflightCommand) history(ctx context.Context, p *process) error {
	return c.Registry.reading(ctx, p, func(examined *examining) error {
		run, err := c.run(examined, "whose preflights are to be shown")
		if err != nil {
			return err
		}
		query := registry.PageQuery{Cursor: c.Past.Cursor}
		if c.Past.Limit != nil {
			query.Limit = *c.Past.Limit
		}
		page, err := examined.Preflights(ctx, run, query)
		if err != nil {
			return err
		}
		if p.JSON {
			return printJSON(p.Out, page)
		}
		_, err = io.WriteString(p.Out, historyText(run, &page, painterFor(p.Out, p.Getenv)))
		return err
	})
}

// historyText shows a page of the preflights of a run, a line for each.
func historyText(run string, page *registry.PreflightPage, paint painter) string {
	if len(page.Preflights) == 0 {
		return paint.fold("No preflight of "+visible(run)+" to show.") + "\n"
	}
	var out strings.Builder
	width := len("FAIL")
	if slices.ContainsFunc(page.Preflights, func(kept registry.KeptPreflight) bool {
		return startOutcome(&kept.Preflight) == registry.OutcomeUndecided
	}) {
		width = len(registry.OutcomeUndecided)
	}
	for i := range page.Preflights {
		kept := &page.Preflights[i]
		at := shownMoment(kept.At)
		column := len(at) + 2 + width + 2
		fmt.Fprintf(&out, "%s  %s  %s\n", at, lamp(startOutcome(&kept.Preflight), width, paint),
			paint.foldFrom(startSentence(&kept.Preflight), column, column))
	}
	if page.NextCursor != "" {
		out.WriteString(paint.nextPage(page.NextCursor))
	}
	return out.String()
}
