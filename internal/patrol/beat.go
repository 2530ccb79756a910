package patrol

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// beat shows that this process lives, until ctx is done or the lease is lost.
// The batch does so too whenever it stores results.
func (s *shift) beat(ctx context.Context) error {
	timer := time.NewTimer(beatEvery)
	defer timer.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		began := time.Now()
		if wait := beatEvery - began.Sub(s.lastBeat()); wait > 0 {
			timer.Reset(wait)
			continue
		}
		calling, cancel := context.WithTimeout(ctx, leaseWait)
		err := s.store.Beat(calling, s.fence)
		cancel()
		switch {
		case err == nil:
			s.alive(began)
			timer.Reset(beatEvery)
		case errors.Is(err, registry.ErrLeaseLost):
			return err
		default:
			if !failing && ctx.Err() == nil {
				s.log.ErrorContext(ctx, "the lease on the patrol cannot be renewed; soon no more probes are started", slog.Any("error", err))
			}
			timer.Reset(beatAgain)
		}
		failing = err != nil
	}
}

func (s *shift) lastBeat() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beaten
}

// alive notes a beat, or a write under the fence, that began at a time and succeeded.
func (s *shift) alive(began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if began.After(s.beaten) {
		s.beaten = began
	}
}
