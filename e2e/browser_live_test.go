//go:build unix

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// TestPages_areLive watches pages that are open while the world changes.
func TestPages_areLive(t *testing.T) { //nolint:tparallel // its parts share the connections of one browser
	t.Parallel()
	s, b := newScene(t, "127.0.0.1:0", 2*time.Second), newBrowser(t)
	// One after the other, each with tabs of its own: a browser keeps six connections to
	// a server, and each open page holds one.
	for _, each := range []struct {
		name  string
		watch func(*testing.T, *scene, *browser)
	}{{"turn red", turnRed}, {"work appears", workAppears}, {"leave hidden", leaveHidden}, {"stand still", standStill}, {"survive a restart", surviveRestart}} {
		t.Run(each.name, func(t *testing.T) { each.watch(t, s, b) })
	}
}

// turnRed has a server break under open pages.
func turnRed(t *testing.T, s *scene, b *browser) {
	list, whole := b.tab(t, s.address), b.tab(t, s.address)
	list.open(t, "/components")
	whole.open(t, "/components/scanner")
	evaluate[bool](t, whole, `(() => {
		for (const each of document.querySelectorAll('details')) each.open = true;
		window.opened = document.querySelectorAll('details#hours[open]').length;
		window.held = document.querySelector('#changes ~ ol a, #fills ~ dl a');
		window.held.focus();
		return true;
	})()`)
	evaluate[bool](t, list, `(window.held = document.querySelector('#component-scanner a'), window.held.focus(), true)`)
	s.red(t, list, "scanner")
	list.eventually(t, "the change is not told in words", `window.told.includes('scanner') && window.told.includes('unavailable')`)
	whole.eventually(t, "the page of the component does not show it", `document.querySelector('#status').textContent.includes('unavailable')`)
	if !evaluate[bool](t, whole, `window.opened === 1 && document.querySelector('details#hours').open`) {
		t.Error("what was open is closed, or the page was loaded anew")
	}
	for name, p := range map[string]*tab{"list": list, "component": whole} {
		if !evaluate[bool](t, p, `window.held?.isConnected && document.activeElement === window.held`) {
			t.Errorf("%s: the focus is lost: it is at %s", name, evaluate[string](t, p, `document.activeElement.outerHTML.slice(0, 200)`))
		}
		p.isFine(t, name)
	}
	s.servers["scanner"].mood.Store(int32(moodWell))
	list.eventually(t, "the list does not show that it works again", `document.querySelector('#component-scanner').textContent.includes('available') && !document.querySelector('#component-scanner').textContent.includes('unavailable')`)
}

// red breaks a component that works, under an open list of components.
func (s *scene) red(t *testing.T, p *tab, name string) {
	t.Helper()
	s.servers[name].mood.Store(int32(moodWell))
	row := fmt.Sprintf(`document.querySelector('#component-%s').textContent`, name)
	p.eventually(t, "it does not work to begin with", fmt.Sprintf(`!%s.includes('unavailable')`, row))
	eventually(t, "it is not available", func() bool { return s.reading(t, name).Status == registry.Available })
	evaluate[bool](t, p, `(() => {
		window.told = '';
		new MutationObserver(() => { window.told += document.querySelector('#said').textContent; }).observe(document.querySelector('#said'), {childList: true});
		return true;
	})()`)
	s.servers[name].mood.Store(int32(moodBroken))
	p.eventually(t, "the open page does not show it", fmt.Sprintf(`%s.includes('unavailable')`, row))
}

// workAppears has an agent claim a task under an open page.
func workAppears(t *testing.T, s *scene, b *browser) {
	p := b.tab(t, s.address)
	p.open(t, "/tasks/"+s.tasks["pending"])
	evaluate[bool](t, p, `(window.same = true)`)
	claimed := run(t, s.folder, s.env, binary(), "task", "claim", s.tasks["pending"], "--agent-id", "builder-1", "--evidence", "The old key is revoked; see the log.", "--db", s.database)
	if claimed.code != 0 {
		t.Fatalf("claim: %s%s", claimed.stdout, claimed.stderr)
	}
	p.eventually(t, "an open task does not show its claim", `window.same && document.querySelector('#status').textContent.includes('claimed') && document.querySelector('#work').textContent.includes('The old key is revoked')`)
	p.isFine(t, "a task")
}

// surviveRestart ends the server under an open page, and starts it again.
func surviveRestart(t *testing.T, s *scene, b *browser) {
	p, one, run := b.tab(t, s.address), b.tab(t, s.address), b.tab(t, s.address)
	p.open(t, "/components")
	one.open(t, "/components/scanner")
	run.open(t, "/runs/nightly")
	evaluate[bool](t, p, `(window.same = true)`)
	p.isFine(t, "before the end")
	s.serve.stop(t, syscall.SIGTERM)
	evaluate[bool](t, one, `(document.querySelector('form[data-busy] button').click(), true)`)
	one.eventually(t, "a probe that is asked for of nobody is not refused", `document.querySelector('#outcome').textContent === 'The server cannot be reached.'`)
	for _, lost := range []*tab{p, one, run} {
		lost.isLost(t)
	}
	s.start(t, strings.TrimPrefix(s.address, "http://"))
	for _, found := range []*tab{p, one, run} {
		found.eventually(t, "the page does not become live again", `document.querySelector('#link').hidden && !document.body.classList.contains('stale')`)
		found.heard() // that the server was away
	}
	s.red(t, p, "scanner")
	if !evaluate[bool](t, p, `window.same`) {
		t.Error("the page was loaded anew")
	}
	p.isFine(t, "after the restart")
	s.servers["scanner"].mood.Store(int32(moodWell))
}

// standStill stops the server under an open page as a machine that hangs does: nothing
// is refused, and no connection ends.
func standStill(t *testing.T, s *scene, b *browser) {
	p := b.tab(t, s.address)
	before := s.listeners(t)
	p.open(t, "/components")
	eventually(t, "an open page does not listen", func() bool { return s.listeners(t) == before+1 })
	must(t, s.serve.signal(syscall.SIGSTOP))
	goesOn := sync.OnceFunc(func() { must(t, s.serve.signal(syscall.SIGCONT)) })
	defer goesOn()
	const ages = `[...document.querySelectorAll('[data-live] time[data-age]')].map(each => each.textContent).join()`
	evaluate[bool](t, p, `(window.stopped = Date.now(), window.ages = `+ages+`, true)`)
	p.eventually(t, "ages stand still while nothing is told yet", `window.ages !== `+ages+` && document.querySelector('#link').hidden`)
	p.isLost(t)
	if since := evaluate[string](t, p, `document.querySelector('#link').textContent`); !evaluate[bool](t, p, `(() => {
		const since = new Date(document.querySelector('#link').textContent.match(/since (.*?): this/)[1].replace(' ', 'T')).getTime();
		return since <= window.stopped && since > window.stopped - 15_000;
	})()`) {
		t.Errorf("it is not the time of the server's last word, which stopped at %s: %s", evaluate[string](t, p, `new Date(window.stopped).toString()`), since)
	}
	goesOn()
	p.eventually(t, "the page does not become live again", `document.querySelector('#link').hidden && !document.body.classList.contains('stale')`)
	p.heard() // that requests were given up
}

// isLost looks at a page that nobody keeps up to date.
func (p *tab) isLost(t *testing.T) {
	t.Helper()
	p.eventually(t, "the page does not say that it is not live", `/^Not live since .*: this page shows what was known then\.$/.test(document.querySelector('#link').textContent)`)
	for complaint, script := range map[string]string{
		"who hears the page is not told":          `document.querySelector('#link').checkVisibility() && document.querySelector('#link').closest('[role=status]') !== null`,
		"below the fold it is not to be seen":     `(window.scrollTo(0, document.body.scrollHeight), document.querySelector('#link').getBoundingClientRect().top >= 0 && document.querySelector('#link').getBoundingClientRect().bottom < 200)`,
		"a lamp still burns":                      `[...document.querySelectorAll('[data-live] .lamp')].every(lamp => getComputedStyle(lamp).backgroundColor === 'rgba(0, 0, 0, 0)' && getComputedStyle(lamp).color === getComputedStyle(document.querySelector('.faint')).color)`,
		"a status is shown as one of this moment": `getComputedStyle(document.querySelector('[data-live] .status'), '::before').content === '"was "'`,
	} {
		if !evaluate[bool](t, p, script) {
			t.Error(complaint)
		}
	}
	if fixed := evaluate[string](t, p, `[...document.querySelectorAll('[data-live] .age')].filter(cell => /\d/.test(cell.textContent) && !cell.querySelector('time[data-age]')).map(cell => cell.textContent).join()`); fixed != "" {
		t.Errorf("ages that cannot go on: %s", fixed)
	}
	evaluate[bool](t, p, `(window.ages = [...document.querySelectorAll('[data-live] time[data-age]')].map(each => each.textContent).join(), true)`)
	p.eventually(t, "ages stand still", `window.ages !== [...document.querySelectorAll('[data-live] time[data-age]')].map(each => each.textContent).join()`)
}

// leaveHidden hides a page, and shows it again.
func leaveHidden(t *testing.T, s *scene, b *browser) {
	p := b.tab(t, s.address)
	before := s.listeners(t)
	p.open(t, "/components")
	eventually(t, "an open page does not listen", func() bool { return s.listeners(t) == before+1 })
	above, end := chromedp.NewContext(p.context, chromedp.WithNewWindow(false))
	must(t, chromedp.Do(above))
	p.eventually(t, "the page is not hidden by another one", `document.hidden`)
	eventually(t, "a hidden page still listens", func() bool { return s.listeners(t) == before })
	s.servers["scanner"].mood.Store(int32(moodBroken))
	eventually(t, "the scanner does not break", func() bool { return s.reading(t, "scanner").Status == registry.Unavailable })
	end()
	p.eventually(t, "the page is not shown again", `!document.hidden`)
	p.eventually(t, "a page that is shown again does not catch up", `document.querySelector('#component-scanner').textContent.includes('unavailable')`)
	eventually(t, "a page that is shown again does not listen", func() bool { return s.listeners(t) == before+1 })
	s.servers["scanner"].mood.Store(int32(moodWell))
}

// listeners is how many listen to the server's events.
func (s *scene) listeners(t *testing.T) int {
	t.Helper()
	answer, err := http.Get(s.address + "/metrics")
	must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	for line := range strings.Lines(string(text)) {
		var count int
		if _, err := fmt.Sscanf(line, "countersign_feed_listeners %d", &count); err == nil {
			return count
		}
	}
	t.Fatal("no metric tells how many listen")
	return 0
}
