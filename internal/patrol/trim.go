package patrol

import (
	"context"
	"log/slog"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	// trimEvery is how often history is trimmed: by at most trimStep rows in one
	// transaction, which trimWait bounds, with trimPause between two of them.
	trimEvery = time.Minute
	trimStep  = 500
	trimWait  = 5 * time.Second
	trimPause = 50 * time.Millisecond
)

// trim trims history in small steps until ctx is done.
func (s *shift) trim(ctx context.Context) error {
	ticker := time.NewTicker(trimEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			if retention := s.limited().Retention; retention != (registry.Retention{}) {
				s.trimUntil(ctx, retention, now.Add(trimEvery))
			}
		}
	}
}

// trimUntil trims as long as there is something to trim and time for it.
func (s *shift) trimUntil(ctx context.Context, retention registry.Retention, end time.Time) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for time.Now().Before(end) {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(trimPause)
		calling, cancel := context.WithTimeout(ctx, trimWait)
		removed, err := s.store.Trim(calling, time.Now(), retention, trimStep)
		cancel()
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "the history could not be trimmed", slog.Any("cause", err))
		}
		if err != nil || removed < trimStep {
			return
		}
	}
}
