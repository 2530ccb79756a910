package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/task"
)

// taskCommand is the task gate for people and scripts. The commands call the
// gate as the MCP tools do and print the same JSON.
type taskCommand struct {
	Database databaseFlag `embed:""`
	Agent    agentFlag    `embed:""`

	Create taskCreateCommand `cmd:"" help:"Create a task with its acceptance criteria."`
	Claim  taskClaimCommand  `cmd:"" help:"Claim a pending task done, with evidence."`
	Verify taskVerifyCommand `cmd:"" help:"Give the verdict on a task that another agent claimed."`
	Show   taskShowCommand   `cmd:"" help:"Show a task whole, with its history."`
	List   taskListCommand   `cmd:"" help:"List tasks, newest first."`
}

// Help is what task --help says beyond its one line.
func (*taskCommand) Help() string {
	return "All of them work on one database: the one of --db, else one file for this user. No configuration file is read, so that a key db in " +
		"countersign.yaml does not count here: give --db to work on what countersign serve shows."
}

// keyFlag makes a call safe to repeat.
type keyFlag struct {
	IdempotencyKey *string `help:"Key of your own making: the same call with the same key answers again what it answered first." name:"idempotency-key" placeholder:"KEY"`
}

// openFunc is openDatabase or openExisting.
type openFunc func(ctx context.Context, p *process, location string) (*store.Database, error)

// actor requires an agent to act as, and refuses a lock that disagrees.
func (c *taskCommand) actor(p *process) (task.Caller, error) {
	caller, err := callerOf(p, c.Agent)
	if err == nil && caller.Lock == "" {
		err = fault.New(fault.InvalidArgument, "--agent-id is missing: it says which agent this is").
			With(fault.Field, "--agent-id").
			WithHint("Give --agent-id, or set %s.", envAgentID)
	}
	return caller, err
}

// withGate opens the database by open, calls do with the gate in front of it, and
// closes it again.
func (c *taskCommand) withGate(ctx context.Context, p *process, open openFunc, do func(*task.Gate) error) (err error) {
	database, err := open(ctx, p, c.Database.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	if err := do(task.NewGate(database, time.Now)); err != nil {
		return forShell(lookedIn(err, database.Location()), p.JSON)
	}
	return nil
}

// lookedIn says of what is not there in which database it is not.
func lookedIn(err error, database string) error {
	coded, ok := fault.Of(err)
	if !ok || coded.Code != fault.NotFound {
		return err
	}
	named := *coded
	named.Message += " in " + database
	return &named
}

// forShell words the hint of a fault for someone at a shell, who runs commands
// where an agent calls tools. JSON keeps the shape of the tools.
func forShell(err error, asJSON bool) error {
	coded, ok := fault.Of(err)
	if !ok || asJSON {
		return err
	}
	hint := fault.Named(coded.Hint, "run", map[string]string{
		"create_task":     "countersign task create",
		"claim_done":      "countersign task claim",
		"verify":          "countersign task verify",
		"get_task":        "countersign task show",
		"get_task on":     "countersign task show",
		"list_tasks":      "countersign task list",
		"list_components": "countersign component list",
		"get_component":   "countersign component show",
		"probe_component": "countersign probe",
	})
	return coded.WithHint("%s", strings.NewReplacer("with supersedes", "with --supersedes", "without supersedes", "without --supersedes").Replace(hint))
}
