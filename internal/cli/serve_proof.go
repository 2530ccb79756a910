package cli

import (
	"context"
	"errors"
	"log/slog"

	"github.com/countersign-dev/countersign/gates"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
)

// databaseProof is what /test proves. Why it failed goes to the log in full and
// to the answer in words that hold no secret.
func databaseProof(database *store.Database, log *slog.Logger) gates.Func {
	return func(ctx context.Context) error {
		err := database.Check(ctx)
		if err == nil {
			return nil
		}
		log.WarnContext(ctx, "the database failed its check", slog.Any("cause", err))
		if coded, ok := fault.Of(err); ok {
			return errors.New(coded.Message)
		}
		return errors.New("the database failed its check; see the log")
	}
}
