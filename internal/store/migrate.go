package store

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
)

// migrations holds the schema of each dialect, forward only: NNNN_name.sql,
// numbered from 1 without gaps, never edited after a release.
//
//go:embed migrations
var migrations embed.FS

// migration is one step of a schema.
type migration struct {
	version int
	name    string
	text    string
}

// migrationsOf returns the steps of a dialect in order.
func migrationsOf(name string) ([]migration, error) {
	directory := path.Join("migrations", name)
	files, err := fs.ReadDir(migrations, directory)
	if err != nil {
		return nil, fmt.Errorf("read the migrations for %s: %w", name, err)
	}
	var steps []migration
	for i, file := range files {
		number, _, _ := strings.Cut(file.Name(), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s of %s is not number %d", file.Name(), name, i+1)
		}
		text, err := fs.ReadFile(migrations, path.Join(directory, file.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the migration %s of %s: %w", file.Name(), name, err)
		}
		steps = append(steps, migration{version: version, name: file.Name(), text: string(text)})
	}
	return steps, nil
}

// pending returns the steps that a schema of this version lacks. Fault:
// Unavailable for a version that this program does not know.
func pending(steps []migration, version int, location string) ([]migration, error) {
	if version > len(steps) {
		return nil, fault.New(fault.Unavailable, "the database %s has schema version %d; this program knows versions up to %d",
			location, version, len(steps)).
			WithHint("A newer Countersign has written it. Update this program; the database was left untouched.")
	}
	return steps[version:], nil
}
