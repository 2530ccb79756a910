package alert_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/alert"
)

// jumping is a clock on the wall that can be set.
type jumping struct{ by atomic.Int64 }

func (j *jumping) set(by time.Duration) { j.by.Add(int64(by)) }

func (j *jumping) read(o *alert.Options) {
	o.Now = func() time.Time { return time.Now().Add(time.Duration(j.by.Load())).Round(0) }
}

func TestDeliver_aSlowReceiverHearsOfWhatBreaksNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm"), &endpoint{}
		to.answers(func(context.Context, attempt) (int, http.Header, error) {
			<-time.After(9 * time.Second)
			return http.StatusOK, nil, nil
		})
		on.backlog(200)
		alerts(t, on, to, hook(), nil)
		pass(time.Minute)
		on.probed(t, "asm", false)
		pass(20 * time.Second) // what is under way, and then this
		if !slices.Contains(to.told(), "component:asm firing") {
			t.Errorf("%d claims were told, and not what broke", len(to.told()))
		}
	})
}

func TestDeliver_aClockThatIsSetBackKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to, clock := newDatabase("asm"), &endpoint{}, &jumping{}
		to.fails(http.StatusServiceUnavailable)
		alerts(t, on, to, hook(), clock.read)
		pass(soon)
		on.probed(t, "asm", false)
		pass(5 * time.Minute)
		clock.set(-48 * time.Hour)
		to.works()
		pass(16 * time.Minute)
		expect(t, to, "component:asm firing")
	})
}

func TestDeliver_remindsAnAlertmanagerThoughTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-30 * time.Minute, -48 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			on, to, clock := newDatabase("asm"), &endpoint{}, &jumping{}
			alerts(t, on, to, manager(), clock.read)
			pass(soon)
			on.probed(t, "asm", false)
			pass(5 * time.Minute)
			clock.set(by)
			before := len(to.attempts())
			pass(10 * time.Minute)
			if got := len(to.attempts()) - before; got < 9 || got > 12 {
				t.Errorf("by %v: %d reminders in ten minutes", by, got)
			}
		})
	}
}

// TestDeliver_aMachineThatSleptGivesNothingUpAtOnce has two days pass on the clock
// between two attempts.
func TestDeliver_aMachineThatSleptGivesNothingUpAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to, clock := newDatabase("asm"), &endpoint{}, &jumping{}
		to.fails(http.StatusServiceUnavailable)
		s := alerts(t, on, to, hook(), clock.read)
		pass(soon)
		on.probed(t, "asm", false)
		pass(2 * time.Second)
		clock.set(48 * time.Hour)
		pass(10 * time.Second) // the network is not there yet
		to.works()
		pass(time.Minute)
		if got := s.observer.counts(); got[1] < 2 || got[2] != 0 {
			t.Errorf("%v were delivered, failed and given up", got)
		}
		expect(t, to, "component:asm firing")
	})
}

func TestDeliver_anEndIsNotHeldBackByAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to, clock := newDatabase("asm"), &endpoint{}, &jumping{}
		alerts(t, on, to, hook(), clock.read)
		pass(soon)
		for _, passed := range []bool{false, true, false, true} {
			on.probed(t, "asm", passed)
			pass(time.Minute)
		}
		clock.set(-48 * time.Hour)
		for range 20 {
			record := recordOf(t, registeredOf("asm"), "asm", true, time.Now().Add(-48*time.Hour))
			on.always(func() { on.known["asm"], _ = on.known["asm"].After(record) })
			pass(time.Minute)
		}
		if told := to.told(); len(told) != 4 || told[3] != "component:asm resolved" {
			t.Errorf("told %v", told)
		}
	})
}

func TestDeliver_aNameThatIsNotFoundIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm"), &endpoint{}
		to.answers(func(context.Context, attempt) (int, http.Header, error) {
			return 0, nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "ops.example", IsNotFound: true}}
		})
		s := alerts(t, on, to, hook(), nil)
		pass(soon)
		on.probed(t, "asm", false)
		pass(time.Minute)
		if got := s.ReceiverStates()[0]; got.Reason != "the host name ops.example could not be resolved: no such host" || !strings.HasPrefix(got.Hint, "Check the spelling of the host") || got.Failures < 3 {
			t.Errorf("the state of the receiver is %+v", got)
		}
		to.answers(func(ctx context.Context, _ attempt) (int, http.Header, error) {
			<-ctx.Done()
			return 0, nil, ctx.Err()
		})
		pass(5 * time.Minute)
		if got := s.ReceiverStates()[0].Reason; got != "it could not be reached within 10s" {
			t.Errorf("of one that cannot be reached it is said: %s", got)
		}
		to.works()
		pass(16 * time.Minute)
		expect(t, to, "component:asm firing")
	})
}

func TestDeliver_aDatabaseThatIsAwayIsLoggedOnceForAReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on, to := newDatabase("asm"), &endpoint{}
		to.fails(http.StatusServiceUnavailable)
		s := alerts(t, on, to, hook(), nil)
		pass(soon)
		on.probed(t, "asm", false)
		pass(5 * time.Second)
		on.always(func() { on.down = true })
		pass(10 * time.Minute)
		on.always(func() { on.down = false })
		to.works()
		pass(16 * time.Minute)
		expect(t, to, "component:asm firing")
		for _, line := range []string{`msg="what was delivered to a receiver cannot be noted" receiver=ops`, `msg="what was delivered to a receiver can be noted again" receiver=ops`} {
			if got := strings.Count(s.log.String(), line); got != 1 {
				t.Errorf("logged %d times: %s", got, line)
			}
		}
	})
}
