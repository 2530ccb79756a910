package cli

import (
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

	loaded *config.Config
}

// load reads the configuration file. Faults: NotFound when there is none; those of
// config.Load.
func (f registryFlags) load(p *process) (*config.Config, error) {
	loaded, err := f.File.load(p)
	if err == nil && loaded.File == "" {
		err = fault.New(fault.NotFound, "there is no configuration file that registers components: looked for %s",
			strings.Join(config.Places(p.Getenv), " and ")).
			WithHint("Name the file with --config.")
	}
	return loaded, err
}

// open opens the database by open and registers there what the file does; the
// caller closes it. Faults: those of open.
func (f registryFlags) open(ctx context.Context, p *process, loaded *config.Config, open openFunc) (*examining, *store.Database, error) {
	location := f.Database.DB
	if location == "" {
		open = openDatabase // what the file names is made when it is needed
		var err error
		if location, err = loaded.DB.Reveal(p.resolver().Resolve); err != nil {
			return nil, nil, err
		}
	}
	database, err := open(ctx, p, location)
	if err != nil {
		return nil, nil, err
	}
	made := &examining{Examiner: newExaminer(p, database, nil), loaded: loaded}
	if err := made.Use(ctx, loaded.Registered()); err != nil {
		return nil, nil, errors.Join(err, database.Close())
	}
	return made, database, nil
}

// with calls do with an examiner and closes the database behind it.
func (f registryFlags) with(ctx context.Context, p *process, open openFunc, do func(*examining) error) error {
	loaded, err := f.load(p)
	if err != nil {
		return err
	}
	return f.withLoaded(ctx, p, loaded, open, do)
}

// withLoaded is with for a file that has been read.
func (f registryFlags) withLoaded(ctx context.Context, p *process, loaded *config.Config, open openFunc, do func(*examining) error) (err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	stop := showProgress(ctx, p.Err, "opening the database")
	opened, database, err := f.open(ctx, p, loaded, open)
	stop()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	return forShell(do(opened), p.JSON)
}

// newExaminer returns an examiner for which nothing is registered yet.
func newExaminer(p *process, database *store.Database, log *slog.Logger) *examiner.Examiner {
	return examiner.New(examiner.Options{
		Store: database, Now: time.Now, Version: version, Resolve: p.resolver().Resolve, Eras: mcpwire.NewEras(), Log: log,
		Key: func() (ed25519.PrivateKey, error) { return config.SigningKey(p.Getenv) },
	})
}
