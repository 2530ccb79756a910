package lease_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/lease"
	"github.com/countersign-dev/countersign/internal/registry"
)

// row keeps the lease of a test.
type row struct {
	mu    sync.Mutex
	lease registry.Lease
}

// line is the way of one contender to the row; it can be cut.
type line struct {
	*row

	cut bool
}

func (l *line) breaks(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = yes
}

func (l *line) note(do func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return fault.New(fault.Unavailable, "the line is cut")
	}
	do()
	return nil
}

func (l *line) Lease(context.Context) (seen registry.Lease, err error) {
	err = l.note(func() { seen = l.lease })
	return seen, err
}

func (l *line) TakeLease(_ context.Context, seen registry.Lease, holder string) (now registry.Lease, taken bool, err error) {
	err = l.note(func() {
		if taken = l.lease == seen; taken {
			l.lease = registry.Lease{Holder: holder, Fence: seen.Fence + 1, Beat: seen.Beat + 1}
		}
		now = l.lease
	})
	return now, taken, err
}

func (l *line) Beat(_ context.Context, fence int64) error {
	var lost error
	err := l.note(func() {
		if l.lease.Fence != fence || l.lease.Holder == "" {
			lost = registry.ErrLeaseLost
		}
		l.lease.Beat++
	})
	return errors.Join(err, lost)
}

func (l *line) ReleaseLease(_ context.Context, fence int64) error {
	return l.note(func() {
		if l.lease.Fence == fence {
			l.lease.Holder = ""
		}
	})
}

// contender is one that works in the bubble of a test.
type contender struct {
	lease.Duty

	line    *line
	changed chan struct{}
	stop    func()

	mu    sync.Mutex
	log   bytes.Buffer
	idle  bool
	holds []*lease.Hold
	works bool
	fails chan error // what the work ends with
}

func (c *contender) note(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

func (c *contender) Write(part []byte) (written int, err error) {
	c.note(func() { written, err = c.log.Write(part) })
	return written, err
}

func (c *contender) working() (yes bool) {
	c.note(func() { yes = c.works })
	return yes
}

// fence is that of the last hold.
func (c *contender) fence() (fence int64) {
	c.note(func() { fence = c.holds[len(c.holds)-1].Fence })
	return fence
}

// want waits until it is idle or wants to work again.
func (c *contender) want(yes bool) {
	c.note(func() { c.idle = !yes })
	c.changed <- struct{}{}
}

// logged counts lines with a text.
func (c *contender) logged(text string) (count int) {
	c.note(func() { count = strings.Count(c.log.String(), text) })
	return count
}

func contends(t *testing.T, on *row, name string) *contender {
	t.Helper()
	c := &contender{line: &line{row: on}, changed: make(chan struct{}, 1), fails: make(chan error)}
	c.Duty = lease.Duty{
		Name: "the watch", Does: "watches", Store: c.line, Holder: name, Log: slog.New(slog.NewTextHandler(c, nil)),
		Changed: c.changed, Others: func() {},
		Wanted: func() (yes bool) {
			c.note(func() { yes = !c.idle })
			return yes
		},
		Work: func(ctx context.Context, hold *lease.Hold) error {
			c.note(func() { c.holds, c.works = append(c.holds, hold), true })
			defer c.note(func() { c.works = false })
			select {
			case <-ctx.Done():
				return nil
			case <-c.changed:
				return nil
			case err := <-c.fails:
				return err
			}
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(ctx)
	}()
	c.stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(c.stop)
	return c
}

// pass lets time go by in the bubble, until nothing moves any more.
func pass(long time.Duration) {
	<-time.After(long)
	synctest.Wait()
}

func TestDuty_oneOfTwoWorksAndTheOtherTakesOverWhenItDies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := &row{}
		first := contends(t, on, "first")
		pass(time.Second)
		second := contends(t, on, "second")
		pass(time.Hour)
		if !first.working() || second.working() || first.fence() != 1 {
			t.Fatal("not exactly the first works")
		}
		first.line.breaks(true)
		for range 100 {
			pass(100 * time.Millisecond)
			if second.working() && first.holds[0].Lasts(time.Now()) {
				t.Error("the second has taken over while the first might go on")
			}
		}
		if first.holds[0].Lasts(time.Now()) {
			t.Error("one that cannot beat may go on")
		}
		if !second.working() || second.fence() != 2 || second.logged("instead_of=first") != 1 {
			t.Error("the second has not taken over from the first")
		}
		first.line.breaks(false)
		pass(time.Minute)
		if first.working() || first.logged("another process has taken the watch over; this one stands by") != 1 {
			t.Error("the first works on without the lease")
		}
		second.stop()
		pass(lease.LookEvery)
		if !first.working() || first.fence() != 3 {
			t.Error("the first has not taken what the second gave back")
		}
	})
}

func TestDuty_aShortOutageLosesNothingAndIsToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := &row{}
		first := contends(t, on, "first")
		pass(time.Second)
		second := contends(t, on, "second")
		pass(time.Second)
		first.line.breaks(true)
		second.line.breaks(true)
		pass(time.Hour)
		second.line.breaks(false)
		first.line.breaks(false)
		pass(time.Minute)
		if !first.working() || second.working() || !first.holds[0].Lasts(time.Now()) {
			t.Error("the first has not kept the lease")
		}
		for what, told := range map[string]int{
			`msg="the lease on the watch cannot be renewed`:           first.logged(`msg="the lease on the watch cannot be renewed`),
			`msg="the lease on the watch can be renewed again`:        first.logged(`msg="the lease on the watch can be renewed again`),
			`msg="the lease on the watch cannot be read`:              second.logged(`msg="the lease on the watch cannot be read`),
			`msg="the lease on the watch can be read and taken again`: second.logged(`msg="the lease on the watch can be read and taken again`),
		} {
			if told != 1 {
				t.Errorf("%s was told %d times", what, told)
			}
		}
	})
}

func TestDuty_workThatBreaksIsLeftToAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := &row{}
		first := contends(t, on, "first")
		pass(time.Second)
		second := contends(t, on, "second")
		pass(time.Second)
		first.fails <- errors.New("the work is broken")
		pass(2 * lease.LookEvery)
		if first.working() || !second.working() || first.logged("was interrupted") != 1 {
			t.Error("the second has not been given a turn")
		}
		second.stop()
		pass(2 * lease.LookEvery)
		if !first.working() {
			t.Error("the first does not try again")
		}
	})
}

func TestDuty_whoHasNothingToDoLeavesTheLeaseToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := &row{}
		first := contends(t, on, "first")
		pass(time.Second)
		second := contends(t, on, "second")
		pass(time.Second)
		first.want(false)
		pass(lease.LookEvery)
		if first.working() || !second.working() || first.logged("interrupted") != 0 {
			t.Error("the second has not taken over at once")
		}
		second.want(false)
		pass(time.Minute)
		if on.lease.Holder != "" {
			t.Errorf("%s keeps the lease", on.lease.Holder)
		}
		first.want(true)
		pass(0)
		if !first.working() {
			t.Error("the first does not work when there is something to do again")
		}
	})
}

func TestOutlasting_endsSomeTimeAfterOrWithWhatIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var ended func() error
		began := time.Now()
		_ = lease.Outlasting(ctx, func(parting context.Context) error {
			cancel()
			pass(time.Second)
			if parting.Err() != nil {
				t.Error("it ended at once")
			}
			<-parting.Done()
			return nil
		})
		if took := time.Since(began); took >= lease.TakeAfter {
			t.Errorf("it ended %v after the other", took)
		}
		broken := errors.New("broken")
		err := lease.Outlasting(t.Context(), func(parting context.Context) error {
			ended = parting.Err
			return broken
		})
		if !errors.Is(err, broken) || ended() == nil {
			t.Errorf("Outlasting = %v, and its context ended with %v", err, ended())
		}
	})
}
