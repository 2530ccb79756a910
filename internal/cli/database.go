package cli

import (
	"context"
	"path/filepath"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
)

// databaseFlag says which database a command works on.
type databaseFlag struct {
	DB string `help:"Database: a SQLite file or a postgres:// URL. By default one file for this user." name:"db" placeholder:"FILE|URL"`
}

// openDatabase opens the database at a location, or the default file when the
// location is empty. The caller closes it.
// Faults: InvalidArgument, Unavailable.
func openDatabase(ctx context.Context, p *process, location string) (*store.Database, error) {
	if location == "" {
		var err error
		if location, err = defaultDatabase(p.Getenv); err != nil {
			return nil, err
		}
	}
	return store.Open(ctx, location, store.Options{})
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
