package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/task"
)

type taskCreateCommand struct {
	Title      string   `help:"What is to be done, in one line." placeholder:"TEXT"`
	Criterion  textList `help:"An acceptance criterion that someone who did not do the work can decide. Repeat it for each." placeholder:"TEXT"`
	Supersedes *string  `help:"The rejected task that this one tries again." placeholder:"TASK"`

	Key keyFlag `embed:""`
}

// textList is a flag that may be repeated, each time with any text at all: one
// with commas is not split, and one that begins with a hyphen is no flag.
type textList []string

// Decode appends the next argument.
func (l *textList) Decode(from *kong.DecodeContext) error {
	next := from.Scan.Pop()
	if next.IsEOL() {
		return errors.New("its text is missing")
	}
	*l = append(*l, fmt.Sprint(next.Value))
	return nil
}

// Run creates the task and prints its id.
func (c *taskCreateCommand) Run(ctx context.Context, p *process, shared *taskCommand) error {
	caller, err := shared.actor(p)
	if err != nil {
		return err
	}
	return shared.withGate(ctx, p, openDatabase, func(gate *task.Gate) error {
		made, err := gate.Create(ctx, caller, task.CreateRequest{
			Title:              c.Title,
			AcceptanceCriteria: c.Criterion,
			Supersedes:         c.Supersedes,
			IdempotencyKey:     c.Key.IdempotencyKey,
		})
		if err != nil {
			return err
		}
		return answer(p, made, "task %s is %s\n", made.TaskID, made.Status)
	})
}

type taskClaimCommand struct {
	Task         string `arg:"" help:"The task's id." placeholder:"TASK"`
	Evidence     string `help:"What was done, and how each criterion can be checked." placeholder:"TEXT" xor:"evidence"`
	EvidenceFile string `help:"Read the evidence from a file, or from standard input when it is -." placeholder:"FILE" xor:"evidence"`

	Key keyFlag `embed:""`
}

// Run claims the task done.
func (c *taskClaimCommand) Run(ctx context.Context, p *process, shared *taskCommand) error {
	caller, err := shared.actor(p)
	if err != nil {
		return err
	}
	evidence, err := textOrFile(p, c.Evidence, c.EvidenceFile, "--evidence-file", task.MaxEvidence)
	if err != nil {
		return err
	}
	return shared.withGate(ctx, p, openExisting, func(gate *task.Gate) error {
		claim, err := gate.Claim(ctx, caller, task.ClaimRequest{
			TaskID:         c.Task,
			Evidence:       evidence,
			IdempotencyKey: c.Key.IdempotencyKey,
		})
		if err != nil {
			return err
		}
		return answer(p, claim, "task %s is %s by %s and waits for the verdict of another agent\n", claim.TaskID, claim.Status, claim.ClaimedBy)
	})
}

type taskVerifyCommand struct {
	Task      string `arg:"" help:"The task's id." placeholder:"TASK"`
	Verdict   string `help:"verified or rejected." placeholder:"VERDICT" predictor:"verdict"`
	Notes     string `help:"What was checked and found; a rejection needs them." placeholder:"TEXT" xor:"notes"`
	NotesFile string `help:"Read the notes from a file, or from standard input when it is -." placeholder:"FILE" xor:"notes"`

	Key keyFlag `embed:""`
}

// Run gives the verdict.
func (c *taskVerifyCommand) Run(ctx context.Context, p *process, shared *taskCommand) error {
	caller, err := shared.actor(p)
	if err != nil {
		return err
	}
	notes, err := textOrFile(p, c.Notes, c.NotesFile, "--notes-file", task.MaxNotes)
	if err != nil {
		return err
	}
	return shared.withGate(ctx, p, openExisting, func(gate *task.Gate) error {
		verdict, err := gate.Verify(ctx, caller, task.VerifyRequest{
			TaskID:         c.Task,
			Verdict:        c.Verdict,
			Notes:          notes,
			IdempotencyKey: c.Key.IdempotencyKey,
		})
		if err != nil {
			return err
		}
		return answer(p, verdict, "task %s is %s by %s\n", verdict.TaskID, verdict.Status, verdict.VerifiedBy)
	})
}

// textOrFile returns the text itself or, when a file is named, what it holds,
// read no further than one byte past the limit: the gate refuses that much.
func textOrFile(p *process, text, file, flag string, limit int64) (string, error) {
	if file == "" {
		return text, nil
	}
	content, err := readBounded(p.In, file, limit+1)
	if err != nil {
		return "", fault.New(fault.InvalidArgument, "%s %s cannot be read", flag, file).
			With(fault.Field, flag).
			WithHint("%v.", err).
			WithCause(err)
	}
	return content, nil
}
