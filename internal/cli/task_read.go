package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/task"
)

type taskShowCommand struct {
	Task string `arg:"" help:"The task's id." placeholder:"TASK"`
}

// Run shows the task, if it is what its record says. Nothing of it is cut.
func (c *taskShowCommand) Run(ctx context.Context, p *process, shared *taskCommand) error {
	if _, err := callerOf(p, shared.Agent); err != nil {
		return err
	}
	return shared.withGate(ctx, p, openExisting, func(gate *task.Gate) error {
		shown, transitions, err := gate.TaskOnRecord(ctx, c.Task)
		if err != nil {
			return err
		}
		if p.JSON {
			return printJSON(p.Out, shown)
		}
		_, err = fmt.Fprint(p.Out, wholeTask(painterFor(p.Out, p.Getenv), shown, transitions))
		return err
	})
}

// wholeTask lays a task out: title, status, history, lineage, then the texts.
func wholeTask(paint painter, t task.Task, transitions []task.Transition) string {
	var page strings.Builder
	fmt.Fprintf(&page, "%s\n", paint.bold(paint.fold(oneLine(t.Title))))
	fmt.Fprintf(&page, "task %s is %s\n\n", t.TaskID, painted(paint, t.Status, 0))
	for i, change := range t.History {
		stood := transitions[i].Principal
		row := fmt.Sprintf("  %s  %-8s  by %s ", shownTime(change.At), change.Kind, change.Agent)
		page.WriteString(row + paint.dim(paint.foldFrom("("+oneLine(stood.Kind+" "+stood.ID)+")", columns(row), hanging)) + "\n")
	}
	if doubt := task.DoubtOf(transitions); doubt.Grave {
		fmt.Fprintf(&page, "  %s\n", paint.red(doubt.Words))
	} else if doubt.Words != "" {
		fmt.Fprintf(&page, "%s\n", paint.dim(paint.fold("  "+doubt.Words)))
	}
	fmt.Fprintf(&page, "  %s\n", paint.dim("every word agrees with the digests of this history"))
	if t.Supersedes != "" {
		fmt.Fprintf(&page, "\n  supersedes %s\n", t.Supersedes)
	}
	if t.SupersededBy != "" {
		fmt.Fprintf(&page, "\n  superseded by %s\n", t.SupersededBy)
	}
	fmt.Fprintf(&page, "\n%s\n", paint.bold("Acceptance criteria"))
	for i, criterion := range t.AcceptanceCriteria {
		number := fmt.Sprintf("%4d. ", i+1)
		fmt.Fprintf(&page, "%s%s\n", number, strings.TrimPrefix(paint.fold(indented(criterion, "      ")), "      "))
	}
	for _, part := range []struct{ name, text string }{{"Evidence", t.Evidence}, {"Notes", t.Notes}} {
		if part.text != "" {
			fmt.Fprintf(&page, "\n%s\n%s\n", paint.bold(part.name), paint.fold(indented(part.text, "  ")))
		}
	}
	return page.String()
}

type taskListCommand struct {
	Status       *string `help:"Only tasks of this status: pending, claimed, verified or rejected." placeholder:"STATUS" predictor:"taskstatus"`
	CreatedBy    *string `help:"Only tasks that this agent created." placeholder:"ID"`
	ClaimedBy    *string `help:"Only tasks that this agent claimed." placeholder:"ID"`
	VerifiableBy *string `help:"Only claimed tasks on which this agent may give the verdict." placeholder:"ID"`
	Supersedes   *string `help:"Only the task that supersedes this one." placeholder:"TASK"`
	Order        *string `help:"newest (created last, first), which is what it is if not given, or oldest (longest in the status, first), which needs --status." placeholder:"ORDER" predictor:"taskorder"`
	Limit        *int    `help:"At most this many, from 1 to 100; 20 if not given." placeholder:"N"`
	Cursor       *string `help:"Go on after the page whose next_cursor this is." placeholder:"CURSOR"`
}

// Run lists a page of tasks.
func (c *taskListCommand) Run(ctx context.Context, p *process, shared *taskCommand) error {
	if _, err := callerOf(p, shared.Agent); err != nil {
		return err
	}
	return shared.withGate(ctx, p, openExisting, func(gate *task.Gate) error {
		page, err := gate.List(ctx, task.Query{
			Status:       c.Status,
			CreatedBy:    c.CreatedBy,
			ClaimedBy:    c.ClaimedBy,
			VerifiableBy: c.VerifiableBy,
			Supersedes:   c.Supersedes,
			Order:        c.Order,
			Limit:        c.Limit,
			Cursor:       c.Cursor,
		})
		if err != nil {
			return err
		}
		if p.JSON {
			return printJSON(p.Out, page)
		}
		limit := task.DefaultPage
		if c.Limit != nil {
			limit = *c.Limit
		}
		_, err = fmt.Fprint(p.Out, pageOfTasks(painterFor(p.Out, p.Getenv), page, limit))
		return err
	})
}
