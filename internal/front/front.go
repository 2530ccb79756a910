// Package front owns what stands before an MCP server that speaks over stdio: it
// runs the server as a child process and serves its tools, resources and prompts
// at one HTTP endpoint, without sessions, in both eras of the protocol.
//
// It must not know who listens, who is let in and where the gates are mounted; it
// hands out a handler and answers to the gates' questions. Its one idea is that
// many clients share one child and none of them sees it: every id and every
// progress token is replaced by one that is given out once, and whatever cannot
// be traced back to a request goes to nobody.
package front

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/countersign-dev/countersign/internal/mcpwire"
)

// Limits of a front.
const (
	MaxBody = 4 << 20 // bytes of one request

	maxHeld       = 64 << 20         // bytes of all requests that are worked on
	maxUnderWay   = 64               // calls that the child works on; others wait
	maxProgress   = 64               // progress notifications that wait for a slow client; later ones are dropped
	maxReplies    = 64               // requests of the child that wait to be refused; later ones are dropped
	maxLabel      = 128              // bytes of a session id and of the id of a request
	callLimit     = 5 * time.Minute  // for one call
	startLimit    = time.Minute      // from the start of the child to the end of its handshake
	sendLimit     = 5 * time.Second  // for what nobody waits for
	writeLimit    = 30 * time.Second // for a client to read what it is sent
	firstDelay    = time.Second / 2  // before the first restart; it doubles each time
	longestDelay  = 30 * time.Second // between two starts
	steadyAfter   = time.Minute      // a child that lived so long is restarted without delay again
	maxStartTries = 3                // versions that are offered to one child
)

// Options says what is run.
type Options struct {
	Command  mcpwire.Command  // the child
	Identity mcpwire.Identity // how the front introduces itself to the child
	Log      *slog.Logger
}

// Front runs a child and serves it. Run it and use its handler.
type Front struct {
	options Options
	limits  limits
	lastID  atomic.Int64        // of what was asked of any child; never used twice
	held    *semaphore.Weighted // bytes of requests
	places  chan struct{}       // one for each call that the child works on

	begun     sync.Once
	started   chan struct{} // closed when the first start was tried
	unstarted error         // why that failed; after started

	mu      sync.Mutex
	child   *child        // nil while none is ready
	down    error         // why there is none; nil while one starts
	changed chan struct{} // closed when child or down changes

	running sync.Mutex // guards calls
	calls   map[string]context.CancelCauseFunc
}

// limits can be shortened by tests.
type limits struct{ call, start, write, firstDelay, longestDelay time.Duration }

// New returns a front; Run starts its child.
func New(options Options) *Front {
	return &Front{
		options: options,
		limits:  limits{call: callLimit, start: startLimit, write: writeLimit, firstDelay: firstDelay, longestDelay: longestDelay},
		held:    semaphore.NewWeighted(maxHeld),
		places:  make(chan struct{}, maxUnderWay),
		started: make(chan struct{}),
		changed: make(chan struct{}),
		calls:   map[string]context.CancelCauseFunc{},
	}
}

// Run keeps a child running until ctx is done: one that ends is started again,
// after a delay that doubles from half a second to half a minute unless it had
// run for a minute. It returns an error, a *mcpwire.Failure, only when the command
// cannot be started the first time. Before it returns, the child and its group
// have ended.
func (f *Front) Run(ctx context.Context) error {
	defer func() { f.become(nil, errors.New("the front is being ended")) }()
	delay := f.limits.firstDelay
	for {
		began := time.Now()
		err := f.live(ctx)
		if f.unstarted != nil {
			return f.unstarted
		}
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) >= steadyAfter {
			delay = f.limits.firstDelay
		}
		f.options.Log.WarnContext(ctx, "the child is down", slog.Any("cause", err), slog.String("restart_in", delay.String()))
		f.become(nil, cmp.Or(err, errors.New("it ended")))
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil
		}
		delay = min(2*delay, f.limits.longestDelay)
	}
}

// Started waits until Run has tried to start the child for the first time, and
// reports whether it could be started.
func (f *Front) Started() bool {
	<-f.started
	return f.unstarted == nil
}

// live runs one child from its start to its end and says why it ended.
func (f *Front) live(ctx context.Context) error {
	command := f.options.Command
	command.Log = func(line string) { f.options.Log.InfoContext(ctx, "the child says", slog.String("line", line)) }
	process, err := mcpwire.StartProcess(ctx, command)
	f.begun.Do(func() {
		f.unstarted = err
		close(f.started)
	})
	if err != nil {
		return err
	}
	c := newChild(process, &f.lastID, f.options.Log)
	// What the child does last is not to be cut short by the end of the front.
	ending := context.WithoutCancel(ctx)
	defer func() {
		exit := process.Close(ending)
		f.options.Log.InfoContext(ending, "the child has ended", slog.String("exit", exit.String()), slog.Any("warnings", process.Warnings()))
	}()
	var working sync.WaitGroup
	defer working.Wait()
	pumping, stop := context.WithCancel(ctx)
	defer stop()
	working.Go(func() { c.pump(pumping) })
	working.Go(func() { c.answer(pumping) })
	if err := f.greet(ctx, c); err != nil {
		return err
	}
	f.options.Log.InfoContext(ctx, "the child is ready", slog.Int("pid", process.PID()),
		slog.String("server", c.hello.name()), slog.String("protocol", c.hello.version))
	f.become(c, nil)
	select {
	case <-c.gone:
		f.become(nil, c.why)
		return c.why
	case <-ctx.Done():
		return ctx.Err()
	}
}

// greet shakes hands with a child, within the time that a start may take.
func (f *Front) greet(ctx context.Context, c *child) error {
	ctx, cancel := context.WithTimeout(ctx, f.limits.start)
	defer cancel()
	if err := c.greet(ctx, f.options.Identity); err != nil {
		return err
	}
	for _, warning := range c.process.Warnings() {
		f.options.Log.WarnContext(ctx, "the child breaks the protocol", slog.String("warning", warning))
	}
	return nil
}

// become tells everyone who waits what the state is.
func (f *Front) become(c *child, down error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.child, f.down = c, down
	close(f.changed)
	f.changed = make(chan struct{})
}

// state is the child that is ready, or why there is none; neither while the
// first one starts.
func (f *Front) state() (ready *child, changed <-chan struct{}, down error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.child, f.changed, f.down
}

// ready returns the child. It waits for the first one, and fails at once when
// there was one and it is down.
func (f *Front) ready(ctx context.Context) (*child, error) {
	for {
		c, changed, down := f.state()
		if c != nil || down != nil {
			return c, down
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errors.New("it is still starting")
		}
	}
}

// Alive says why the child is down; nil while it runs, and while the first one
// starts. After a failure it is down until it has shaken hands again.
func (f *Front) Alive() error {
	if _, _, down := f.state(); down != nil {
		return fmt.Errorf("the server behind the front is down: %w", down)
	}
	return nil
}

var _ http.Handler = (*Front)(nil)
