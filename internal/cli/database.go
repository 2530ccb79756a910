package cli

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
)

// databaseFlag says which database a command works on.
type databaseFlag struct {
	DB string `help:"Database: a SQLite file or a postgres:// URL. By default one file for this user." name:"db" placeholder:"FILE|URL"`
}

// databaseLocation returns the location of the database: the one given or, when
// it is empty, the default file, whose directories it creates with mode 0700.
func databaseLocation(p *process, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	file, err := defaultDatabase(p.Getenv)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", fault.New(fault.InvalidArgument, "cannot make the directory of the default database: %v", err).
			WithHint("Give a file that this user can write with --db.").
			WithCause(err)
	}
	return file, nil
}

// defaultDatabase is one file for a user, by the XDG Base Directory
// Specification: a relative XDG_DATA_HOME is ignored.
func defaultDatabase(getenv func(string) string) (string, error) {
	data := getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", fault.New(fault.InvalidArgument, "there is no default database: neither XDG_DATA_HOME nor HOME is an absolute path").
				WithHint("Give a file with --db.")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "countersign", "countersign.db"), nil
}

// isURL reports whether a location is the URL of a PostgreSQL database.
func isURL(location string) bool {
	return strings.HasPrefix(location, "postgres://") || strings.HasPrefix(location, "postgresql://")
}

// shownLocation is a location as it may be shown: of a URL only host and path,
// since user, password and parameters may hold secrets.
func shownLocation(location string) string {
	if !isURL(location) {
		return location
	}
	parsed, err := url.Parse(location)
	if err != nil {
		return "postgres:// (a URL that cannot be read)"
	}
	return "postgres://" + parsed.Host + parsed.Path
}
