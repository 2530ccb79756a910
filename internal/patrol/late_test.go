package patrol_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/registry"
)

// overloaded is a patrol that cannot keep up: it has time for one probe in five.
func overloaded(t *testing.T, on *database) *scene {
	t.Helper()
	x := newExaminer(t, servers(50, 10*time.Second)...)
	x.answers(func(ctx context.Context, _ *registry.Component) (registry.Summary, error) {
		return passed(), wait(ctx, time.Second)
	})
	return patrols(t, on, x, patrol.Limits{
		Concurrency: 1, PerHost: 1,
		Retention: registry.Retention{Raw: registry.DefaultRaw, Hourly: registry.DefaultHourly, MaxBytes: registry.DefaultMaxBytes},
	})
}

func TestPatrol_tellsHowLateItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := overloaded(t, newDatabase())
		pass(5*time.Minute - time.Second)
		s.stop()
		lags := s.observer.told().lags
		// The last of the first fifty waits for the others; later each waits for its turn.
		if greatest := slices.Max(lags); greatest < 30*time.Second || greatest > time.Minute || lags[0] > time.Second {
			t.Errorf("the first lag is %v and the greatest %v", lags[0], greatest)
		}
		if told := strings.Count(s.log.String(), `level=WARN msg="the patrol is late; statuses become unknown when results grow too old" lag=`); told != 5 {
			t.Errorf("it was told %d times in five minutes, want once a minute:\n%s", told, s.log)
		}
	})
}

// A patrol that is never done must not let the history grow without end.
func TestTrim_goesOnWhileThePatrolIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		on.rows = 2250
		overloaded(t, on)
		pass(3 * time.Minute)
		on.note(func() {
			if on.rows != 0 {
				t.Errorf("%d rows are left", on.rows)
			}
		})
	})
}

// A probe that the end of the patrol has broken off may well say that all failed.
func TestPatrol_recordsNothingOfWhatItHasBrokenOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		x := newExaminer(t, servers(20, 10*time.Second)...)
		x.answers(func(ctx context.Context, _ *registry.Component) (registry.Summary, error) {
			<-ctx.Done()
			return failed(), nil
		})
		s := patrols(t, on, x, plenty())
		pass(5 * time.Second)
		s.stop()
		if _, kept, _ := on.seen(); kept != 0 || len(x.probes()) != 20 {
			t.Errorf("of %d probes that were broken off, %d are recorded", len(x.probes()), kept)
		}
	})
}
