package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/countersign-dev/countersign/gates"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
)

// databaseProof is what /test proves. Why it failed goes to the log in full and
// to the answer in words that hold no secret.
func databaseProof(database *store.Database, log *slog.Logger) (gates.Func, error) {
	inPlace, err := inPlaceProof(database)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		err := errors.Join(inPlace(), database.Check(ctx))
		if err == nil {
			return nil
		}
		log.WarnContext(ctx, "the database failed its check", slog.Any("cause", err))
		if coded, ok := fault.Of(err); ok {
			return errors.New(coded.Message)
		}
		return errors.New("the database failed its check; see the log")
	}, nil
}

// inPlaceProof returns a check that the database's file is still the one that
// was opened. SQLite goes on writing to a file that was removed or replaced, and
// finds there all that it wrote; after the process ends nobody else does.
func inPlaceProof(database *store.Database) (func() error, error) {
	file := database.Location()
	if database.Kind() != "sqlite" {
		return func() error { return nil }, nil
	}
	opened, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("look at the database's file: %w", err)
	}
	return func() error {
		found, err := os.Stat(file)
		if err != nil || !os.SameFile(opened, found) {
			return fault.New(fault.Unavailable, "the database's file was removed or replaced while it was open").
				WithHint("Put %s back and restart the server.", file).
				WithCause(err)
		}
		return nil
	}, nil
}
