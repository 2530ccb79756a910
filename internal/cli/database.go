package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
)

// databaseFlag says which database a command works on.
type databaseFlag struct {
	DB string `help:"Database: a SQLite file or a postgres:// URL. By default one file for this user." name:"db" placeholder:"FILE|URL"`
}

// registryDatabaseFlag says so for a command that reads the configuration file.
type registryDatabaseFlag struct {
	DB string `help:"Database: a SQLite file or a postgres:// URL. By default that of the configuration file, else one file for this user." name:"db" placeholder:"FILE|URL"`
}

// openDatabase opens the database at a location, or the default file when the
// location is empty. A file that is not there is made; the folder of a location
// that was given is not, since a mistyped one would be. The caller closes it.
// Faults: InvalidArgument, NotFound, Unavailable.
func openDatabase(ctx context.Context, p *process, location string) (*store.Database, error) {
	return openDatabaseWith(ctx, p, location, store.Options{})
}

// openDatabaseWith is openDatabase for who has options.
func openDatabaseWith(ctx context.Context, p *process, location string, options store.Options) (*store.Database, error) {
	if location == "" {
		var err error
		if location, err = defaultDatabase(p.Getenv); err != nil {
			return nil, err
		}
	} else if !isURL(location) {
		if folder := filepath.Dir(location); isMissing(folder) {
			return nil, fault.New(fault.NotFound, "there is no folder %s for the database %s", folder, location).
				With(fault.Field, "db").WithHint("Make the folder, for the users that are to share the database, or correct --db.")
		}
	}
	return store.Open(ctx, location, options)
}

// openExisting opens a database for a command that needs a task to be there, so
// that a mistyped --db is told instead of made. Faults: those of openDatabase.
func openExisting(ctx context.Context, p *process, location string) (*store.Database, error) {
	if location != "" && !isURL(location) && isMissing(location) {
		return nil, fault.New(fault.NotFound, "there is no database %s", location).
			With(fault.Field, "db").WithHint("Correct --db; countersign task create, mcp and serve make a database.")
	}
	return openDatabase(ctx, p, location)
}

func isURL(location string) bool { return strings.Contains(location, "://") }

func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// defaultDatabase is one file for a user, by the XDG Base Directory
// Specification: a relative XDG_DATA_HOME is ignored.
func defaultDatabase(getenv func(string) string) (string, error) {
	folder := getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(folder) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", fault.New(fault.InvalidArgument, "there is no default database: neither XDG_DATA_HOME nor HOME is an absolute path").
				WithHint("Say with --db where the database is.")
		}
		folder = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(folder, "countersign", "countersign.db"), nil
}
