package store

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/internal/fault"
)

// maxLinks bounds the symbolic links that are followed to a file that is not there.
const maxLinks = 40

// foreignURL is the beginning of a URL; a single letter is a drive of Windows.
var foreignURL = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+://`) })

// resolve returns the file that a location names, through symbolic links, so
// that every process queues at the same lock files. It makes the directory.
func resolve(location string) (string, error) {
	if err := refuseName(location); err != nil {
		return "", err
	}
	file, err := filepath.Abs(location)
	if err != nil {
		return "", badLocation("%q is no path: %v", location, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", noAccess(err)
	}
	if file, err = follow(file); err != nil {
		return "", err
	}
	if found, err := os.Stat(file); err == nil {
		if err := refuseFile(file, found); err != nil {
			return "", err
		}
	}
	kind, err := fileSystem(filepath.Dir(file))
	if err != nil {
		return "", noAccess(err)
	}
	if unsafeFileSystem(kind) {
		return "", badLocation("%s is on a file system of type %s, where SQLite's locks cannot be relied on", file, kind)
	}
	return file, nil
}

// refuseName refuses what is meant for somebody else to read: as a path it would
// lead each process to a file in the directory that it happens to run in.
func refuseName(location string) error {
	separator := strings.IndexAny(location, "/"+string(filepath.Separator))
	switch {
	case location == "" || location == ":memory:" || strings.HasPrefix(location, "file:"):
		return badLocation("%q names no database file", location)
	case foreignURL().MatchString(location):
		scheme, _, _ := strings.Cut(location, ":") // the rest may hold a password
		return badLocation("a URL that begins with %s:// names no database", scheme)
	case location == "~" || strings.HasPrefix(location, "~") && separator > 0:
		return badLocation("%q begins with ~, which only a shell replaces by a home directory", location)
	}
	return nil
}

// follow returns the file behind symbolic links, also when there is none yet: who
// opens it through a link must queue with those who do not.
func follow(file string) (string, error) {
	for range maxLinks {
		whole, err := filepath.EvalSymlinks(file)
		if err == nil {
			return whole, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", noAccess(err)
		}
		directory, err := filepath.EvalSymlinks(filepath.Dir(file))
		if err != nil {
			return "", noAccess(err)
		}
		file = filepath.Join(directory, filepath.Base(file))
		target, isLink := behind(file)
		if !isLink {
			return file, nil
		}
		if file = target; !filepath.IsAbs(file) {
			file = filepath.Join(directory, file)
		}
	}
	return "", badLocation("%s is behind more than %d links", file, maxLinks)
}

// behind returns where a symbolic link leads, and whether there is one.
func behind(file string) (target string, isLink bool) {
	target, err := os.Readlink(file)
	return target, err == nil
}

// refuseFile refuses what is there and cannot be a database.
func refuseFile(file string, found os.FileInfo) error {
	switch {
	case !found.Mode().IsRegular():
		return badLocation("%s is not a file", file)
	case hasSecondName(found):
		// SQLite keeps its log under the name that was opened.
		return badLocation("%s has a second name (a hard link), under which its log would not be found", file)
	}
	return nil
}

func badLocation(format string, args ...any) *fault.Error {
	return fault.New(fault.InvalidArgument, format, args...).
		WithHint("Give a path on a local disk of this machine, or a postgres:// URL.").
		With(fault.Field, "db")
}

func noAccess(cause error) *fault.Error {
	return fault.New(fault.Unavailable, "the database cannot be used: %v", cause).WithCause(cause).
		WithHint("Check that the directory exists and that this user may write to it.")
}
