package cli

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpserver"
	"github.com/countersign-dev/countersign/internal/task"
	"github.com/countersign-dev/countersign/internal/telemetry"
)

type mcpCommand struct {
	Database databaseFlag `embed:""`
	Agent    agentFlag    `embed:""`
}

// Help is what mcp --help says beyond its one line.
func (*mcpCommand) Help() string {
	return "An MCP client starts it and speaks with it over standard input and output; it ends with its input. " +
		"Every agent runs one of its own, on the same database. The log goes to standard error."
}

// Run serves the client until its input ends or ctx is done.
func (c *mcpCommand) Run(ctx context.Context, p *process) (err error) {
	caller, err := callerOf(p, c.Agent)
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(p.Err, telemetry.Text, slog.LevelInfo)
	if err != nil {
		return err
	}
	database, err := openDatabase(ctx, p, c.Database.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	log.InfoContext(ctx, "serving MCP over stdio", slog.String("database", database.Location()), slog.String("agent", string(caller.Lock)))
	return mcpserver.New(task.NewGate(database, time.Now), mcpserver.Options{
		Version: version,
		Caller:  caller,
		Log:     log,
	}).ServeStdio(ctx, p.In, p.Out)
}
