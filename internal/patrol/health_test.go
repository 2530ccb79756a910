package patrol_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/patrol"
	"github.com/countersign-dev/countersign/internal/registry"
)

// A stall is nobody's verdict: within one time to live everything is unknown,
// nothing ever unavailable, and Health is red.
func TestPatrol_stalledOnPurpose(t *testing.T) {
	t.Parallel()
	const interval, ttl = 10 * time.Second, 30 * time.Second
	for name, stall := range map[string]func(on *database, s *scene, x *examiner, blocked chan struct{}){
		"probes never end": func(_ *database, _ *scene, x *examiner, blocked chan struct{}) {
			x.answers(func(ctx context.Context, _ *registry.Component) (registry.Summary, error) {
				select {
				case <-ctx.Done():
				case <-blocked:
				}
				return failed(), ctx.Err()
			})
		},
		"the store never answers": func(_ *database, s *scene, _ *examiner, blocked chan struct{}) {
			release := s.line.hold()
			go func() {
				<-blocked
				release()
			}()
		},
		"the store cannot be reached": func(_ *database, s *scene, _ *examiner, _ chan struct{}) { s.line.breaks(errCut) },
		"the store refuses every result": func(on *database, _ *scene, _ *examiner, _ chan struct{}) {
			on.note(func() { on.refusing = true })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				on := newDatabase()
				components := servers(200, interval)
				x := newExaminer(t, components...)
				s := patrols(t, on, x, patrol.Limits{Concurrency: 8, PerHost: 2})
				pass(5 * time.Minute)
				if err := s.Health(t.Context()); err != nil {
					t.Fatal(err)
				}
				blocked := make(chan struct{})
				stall(on, s, x, blocked)
				for range int(ttl/time.Second) + 1 {
					pass(time.Second)
					never(t, on, components, registry.Unavailable)
				}
				never(t, on, components, registry.Available)
				if err := s.Health(t.Context()); !errors.Is(err, fault.Unavailable) {
					t.Errorf("Health = %v", err)
				}
				close(blocked)
			})
		})
	}
}

// never fails the test when any component has a status.
func never(t *testing.T, on *database, components []registry.Component, status registry.Status) {
	t.Helper()
	for i := range components {
		if got := on.reading(t, &components[i]); got.Status == status {
			t.Fatalf("%s is %s: %s", got.Name, got.Status, got.Reason)
		}
	}
}

func TestHealth_isRedWithinOneTimeToLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newExaminer(t, servers(20, 10*time.Second)...)
		s := patrols(t, newDatabase(), x, plenty())
		pass(time.Minute)
		x.answers(func(ctx context.Context, _ *registry.Component) (registry.Summary, error) {
			<-ctx.Done()
			return failed(), ctx.Err()
		})
		pass(30 * time.Second)
		if err := s.Health(t.Context()); !errors.Is(err, fault.Unavailable) {
			t.Errorf("Health = %v", err)
		}
	})
}

func TestHealth_isRedWhenTheLeaseCannotBeRenewedAndNothingIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := patrols(t, newDatabase(), newExaminer(t, server("rarely", 24*time.Hour)), plenty())
		pass(time.Hour)
		if err := s.Health(t.Context()); err != nil {
			t.Error(err)
		}
		s.line.breaks(errCut)
		pass(10 * time.Second)
		if err := s.Health(t.Context()); !errors.Is(err, fault.Unavailable) {
			t.Errorf("Health = %v", err)
		}
	})
}

func TestHealth_ofAProcessThatStandsBy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := newDatabase()
		holder := patrols(t, on, newExaminer(t, server("any", time.Minute)), plenty())
		pass(time.Second)
		s := patrols(t, on, newExaminer(t, server("any", time.Minute)), plenty())
		pass(time.Hour)
		if err := s.Health(t.Context()); err != nil {
			t.Errorf("while the holder lives: %v", err)
		}
		s.line.breaks(errCut)
		pass(30 * time.Second)
		if err := s.Health(t.Context()); !errors.Is(err, fault.Unavailable) {
			t.Errorf("while the lease cannot be read: %v", err)
		}
		s.line.breaks(nil)
		pass(5 * time.Second)
		if err := s.Health(t.Context()); err != nil {
			t.Errorf("once the lease can be read again: %v", err)
		}
		holder.stop()
		pass(5 * time.Second)
		if err := s.Health(t.Context()); err != nil || !s.observer.told().holding {
			t.Errorf("as the new holder: %v", err)
		}
		s.stop()
		if err := s.Health(t.Context()); !errors.Is(err, fault.Unavailable) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestHealth_toleratesASlowServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		component := server("slow", time.Second)
		x := newExaminer(t, component)
		x.answers(func(ctx context.Context, of *registry.Component) (registry.Summary, error) {
			return failed(), wait(ctx, of.Timeout)
		})
		s := patrols(t, newDatabase(), x, plenty())
		for range 300 {
			pass(time.Second)
			if err := s.Health(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(x.began("slow")); got < 25 {
			t.Errorf("it was probed %d times in five minutes", got)
		}
	})
}

// TestHealth_bearsAProbeForAsLongAsItsKindMayTake has probes that do not end: of a
// server, and of a knowledge base, whose retrieval follows its canary.
func TestHealth_bearsAProbeForAsLongAsItsKindMayTake(t *testing.T) {
	t.Parallel()
	for timeouts, spec := range map[int]registry.Spec{
		2: &registry.MCPServer{URL: "http://a"},
		3: &registry.KnowledgeBase{MCPServer: registry.MCPServer{URL: "http://a"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			one := server("one", time.Second)
			one.Spec, one.Timeout = spec, 10*time.Second
			x := newExaminer(t, one)
			x.answers(func(ctx context.Context, _ *registry.Component) (registry.Summary, error) {
				<-ctx.Done()
				return failed(), ctx.Err()
			})
			s := patrols(t, newDatabase(), x, plenty())
			pass(time.Duration(timeouts)*one.Timeout - 5*time.Second)
			if err := s.Health(t.Context()); err != nil {
				t.Errorf("%T: red before %d time-outs: %v", spec, timeouts, err)
			}
			pass(10 * time.Second)
			if err := s.Health(t.Context()); !errors.Is(err, fault.Unavailable) {
				t.Errorf("%T: Health = %v after %d time-outs", spec, err, timeouts)
			}
		})
	}
}
