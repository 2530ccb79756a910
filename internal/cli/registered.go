package cli

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/store"
)

// registryFlags are those of the commands about registered components.
type registryFlags struct {
	File     configFlag           `embed:""`
	Database registryDatabaseFlag `embed:""`
}

// examining is an examiner of what a configuration file registers.
type examining struct {
	*examiner.Examiner

	loaded   *config.Config
	database *store.Database
	// flags are those that were given of registryFlags, each behind a space: commands
	// that are printed have them too, and so are about the same.
	flags string
}

// What adds to the history trims it too, since no server may ever run on the
// database: at most trimSteps times trimStep rows, which is more than a preflight
// can add, within trimWait.
const (
	trimStep  = 500
	trimSteps = 8
	trimWait  = 5 * time.Second
)

// trim holds the history to the retention of the file. Faults: Unavailable.
func (e *examining) trim(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, trimWait)
	defer cancel()
	for range trimSteps {
		removed, err := e.database.Trim(ctx, time.Now(), e.loaded.Retention, trimStep)
		if err != nil || removed < trimStep {
			return err
		}
	}
	return nil
}

// load reads the configuration file. Faults: NotFound when there is none; those of
// config.Load.
func (f registryFlags) load(p *process) (*config.Config, error) {
	loaded, err := f.File.load(p)
	if err == nil && loaded.File == "" {
		err = fault.New(fault.NotFound, "there is no configuration file that registers components: looked for %s",
			strings.Join(config.Places(p.Getenv), " and ")).
			WithHint(`Name the file with --config, or write one, such as: components: {tracker: {kind: mcp_server, url: "http://127.0.0.1:8080"}}`)
	}
	if coded, ok := fault.Of(err); ok && coded.Code == fault.InvalidArgument {
		err = coded.WithHint("%s A countersign serve that runs goes on with the file as it was before.", coded.Hint)
	}
	return loaded, err
}

// open opens the database by open, and leaves what is registered there as it is; the
// caller closes it. Log may be nil. Faults: those of open.
func (f registryFlags) open(ctx context.Context, p *process, loaded *config.Config, open openFunc, log *slog.Logger) (*examining, error) {
	location := f.Database.DB
	if location == "" {
		open = openDatabase // what the file names is made when it is needed
		var err error
		if location, err = loaded.DB.Reveal(p.resolver().Resolve); err != nil {
			return nil, err
		}
	}
	database, err := open(ctx, p, location)
	if err != nil {
		return nil, err
	}
	made := &examining{Examiner: examiner.New(examinerOptions(p, database, log)), loaded: loaded, database: database}
	named := ""
	if f.Database.DB != "" {
		named = database.Location()
	}
	made.flags = registryArguments(f.File.Config, named)
	if err := made.Look(loaded.Registered()); err != nil {
		return nil, errors.Join(err, database.Close())
	}
	return made, nil
}

// register registers in the database what the file does. Fault: Unavailable.
func (e *examining) register(ctx context.Context) error { return e.Use(ctx, e.loaded.Registered()) }

// reading calls do with an examiner on a database that is there, in which it registers
// nothing: who looks with another file than the server's must not change what the
// server probes.
func (f registryFlags) reading(ctx context.Context, p *process, do func(*examining) error) error {
	loaded, err := f.load(p)
	if err != nil {
		return err
	}
	return f.with(ctx, p, loaded, openExisting, do)
}

// recording calls do, which adds to the history, with an examiner of a file that
// has been read, and is registered first. The history is trimmed when do has answered.
func (f registryFlags) recording(ctx context.Context, p *process, loaded *config.Config, do func(*examining) error) error {
	return f.with(ctx, p, loaded, openDatabase, func(examined *examining) error {
		stop := showProgress(ctx, p.Err, "registering the components")
		err := examined.register(ctx)
		stop()
		if err != nil {
			return err
		}
		answer := do(examined)
		if err := examined.trim(ctx); err != nil && ctx.Err() == nil {
			return cmp.Or(answer, warn(p, "the history could not be trimmed: "+visible(err.Error())))
		}
		return answer
	})
}

// with calls do with an examiner and closes the database behind it.
func (f registryFlags) with(ctx context.Context, p *process, loaded *config.Config, open openFunc, do func(*examining) error) (err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	stop := showProgress(ctx, p.Err, "opening the database")
	opened, err := f.open(ctx, p, loaded, open, nil)
	stop()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.database.Close()) }()
	return forShell(do(opened), p.JSON)
}

// examinerOptions are what every examiner here is made from.
func examinerOptions(p *process, database *store.Database, log *slog.Logger) examiner.Options {
	return examiner.Options{
		Store: database, Now: time.Now, Version: version, Resolve: p.resolver().Resolve, Eras: mcpwire.NewEras(), Log: log,
		Key: func() (ed25519.PrivateKey, error) { return config.SigningKey(p.Getenv) },
	}
}
