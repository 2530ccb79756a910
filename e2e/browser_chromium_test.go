//go:build unix

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	tabTimeout    = 2 * time.Minute  // for one action of a browser
	pageTolerance = 30 * time.Second // until a page is as it must be
)

// The widths that pages are looked at.
const (
	narrow = 360
	wide   = 1440
)

// browser is a real Chromium without a window.
type browser struct{ context context.Context } //nolint:containedctx // chromedp keeps the browser in it

func newBrowser(t *testing.T) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(needed(t, "chromium")), chromedp.UserDataDir(filepath.Join(t.TempDir(), "profile")),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("lang", "en-GB"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
	)
	if os.Geteuid() == 0 || os.Getenv(envIsolation) == isolated { // its sandbox refuses root, and wants namespaces of its own
		options = append(options, chromedp.NoSandbox)
	}
	allocated, release := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(release)
	started, end := chromedp.NewContext(allocated)
	t.Cleanup(end)
	must(t, chromedp.Do(started))
	return &browser{started}
}

// tab is one page of a browser, and what went wrong on it.
type tab struct {
	context context.Context //nolint:containedctx // chromedp keeps the tab in it
	origin  string

	mu       sync.Mutex
	problems []string
	requests map[string]int // by address
}

// tab opens a page that belongs to a server, in a window of its own, since a tab
// behind another one is hidden.
func (b *browser) tab(t *testing.T, origin string) *tab {
	t.Helper()
	made := &tab{origin: origin, requests: map[string]int{}}
	var end context.CancelFunc
	made.context, end = chromedp.NewContext(b.context, chromedp.WithListener(made.hear))
	t.Cleanup(end)
	must(t, chromedp.Do(made.context))
	made.look(t, "light", wide)
	return made
}

// hear notes what a page must not do: complain, ask elsewhere, fail, open a dialog.
func (p *tab) hear(event any) {
	switch event := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if event.Type == runtime.ConsoleAPICalledTypeError || event.Type == runtime.ConsoleAPICalledTypeWarning {
			p.complain("the console says %v", event.Args)
		}
	case *runtime.EventExceptionThrown:
		p.complain("a script fails: %s", event.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if event.Entry.Level == log.EntryLevelError || event.Entry.Level == log.EntryLevelWarning {
			p.complain("the browser says %s (%s)", event.Entry.Text, event.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		p.asked(event.Request.URL)
	case *network.EventLoadingFailed:
		if !event.Canceled {
			p.complain("a request failed: %s", event.ErrorText)
		}
	case *page.EventJavascriptDialogOpening:
		p.complain("a dialog opens: %s", event.Message)
	}
}

func (p *tab) complain(format string, arguments ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, fmt.Sprintf(format, arguments...))
}

func (p *tab) asked(address string) {
	if !strings.HasPrefix(address, p.origin+"/") && !strings.HasPrefix(address, "data:") {
		p.complain("it asks elsewhere: %s", address)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests[strings.TrimPrefix(address, p.origin)]++
}

// heard returns what went wrong since it was asked last.
func (p *tab) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	problems := p.problems
	p.problems = nil
	return problems
}

// isFine fails the test when something went wrong.
func (p *tab) isFine(t *testing.T, where string) {
	t.Helper()
	for _, problem := range p.heard() {
		t.Errorf("%s: %s", where, problem)
	}
}

// within is the tab for one action.
func (p *tab) within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.context, tabTimeout)
	t.Cleanup(cancel)
	return ctx
}

// open goes to an address of the server, and returns the status of the answer.
func (p *tab) open(t *testing.T, path string) int64 {
	t.Helper()
	answer, err := chromedp.RunResponse(p.within(t), chromedp.Navigate(p.origin+path))
	if err != nil || answer == nil {
		t.Fatalf("open %s: %v", path, err)
	}
	return answer.Status
}

// look has the page looked at in a theme and a width, by a reader who wants calm.
func (p *tab) look(t *testing.T, theme string, width int64) {
	t.Helper()
	media := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	command(t, p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: media})
	command(t, p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1})
}

// press presses keys one after the other.
func (p *tab) press(t *testing.T, keys string) {
	t.Helper()
	must(t, chromedp.Do(p.within(t), chromedp.KeyEvent(keys)))
}

// eventually waits until a script says true.
func (p *tab) eventually(t *testing.T, complaint, script string) {
	t.Helper()
	for end := time.Now().Add(pageTolerance); !evaluate[bool](t, p, script); <-time.After(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: the page is %s, %v\n%.3000s", complaint, evaluate[string](t, p, `location.href`), p.heard(), evaluate[string](t, p, `document.body.innerText`))
		}
	}
}

// command sends a command of the protocol to a tab.
func command[Q, A any](t *testing.T, p *tab, send cdp.Command[Q, A], arguments Q) A {
	t.Helper()
	answer, err := chromedp.Call(p.within(t), send, arguments)
	must(t, err)
	return answer
}

// evaluate returns what a script says, which may be a promise.
func evaluate[T any](t *testing.T, p *tab, script string) T {
	t.Helper()
	value, err := chromedp.Run(p.within(t), chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatalf("%v: %.200s", err, script)
	}
	return value
}
