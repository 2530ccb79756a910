//go:build unix

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"
)

// maxStops bounds the places at which Tab stops on one page.
const maxStops = 400

// reachable are the elements that Tab must reach, in their order; those within what
// is closed are left out.
const reachable = `window.wanted = [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
	.filter(e => e.checkVisibility({contentVisibilityAuto: true}) && !e.disabled); wanted.length`

// stop tells which of them has the focus, and whether that can be seen.
const stop = `(() => {
	const at = document.activeElement;
	const style = getComputedStyle(at);
	const box = at.getBoundingClientRect();
	return {
		place: wanted.indexOf(at), html: at.outerHTML.slice(0, 120),
		seen: (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2) || style.boxShadow !== 'none',
		here: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
	};
})()`

// stopped is where the focus is.
type stopped struct {
	Place int
	HTML  string
	Seen  bool
	Here  bool
}

// walkByKeyboard goes through every page with Tab alone, and does with keys what
// can be done.
func walkByKeyboard(t *testing.T, s *scene, b *browser) {
	p := b.tab(t, s.address)
	seen := map[string]int{}
	for _, place := range s.visits(t) {
		if seen[place.name]++; seen[place.name] > 2 {
			continue
		}
		p.open(t, place.path)
		p.standsStill(t)
		count := evaluate[int](t, p, reachable)
		for want := range min(count, maxStops) {
			p.press(t, kb.Tab)
			at := evaluate[stopped](t, p, stop)
			if at.Place != want {
				t.Errorf("%s: stop %d of %d is %d: %s", place.path, want, count, at.Place, at.HTML)
				break
			}
			if !at.Seen || !at.Here {
				t.Errorf("%s: the focus is not to be seen at %s", place.path, at.HTML)
			}
		}
	}
	followLink(t, p)
	openDetails(t, p)
	probeByKeyboard(t, p)
	p.heard() // pages of errors are among the visited ones
}

// standsStill keeps the page from being brought up to date while it is walked.
func (p *tab) standsStill(t *testing.T) {
	t.Helper()
	evaluate[bool](t, p, `document.querySelectorAll('[data-live]').forEach(e => e.removeAttribute('data-live')); window.fetch = () => Promise.reject(new Error('still')); true`)
}

// focus moves the focus with Tab until a script says of the element that it is it.
func (p *tab) focus(t *testing.T, condition string) {
	t.Helper()
	for range maxStops {
		p.press(t, kb.Tab)
		if evaluate[bool](t, p, `(e => `+condition+`)(document.activeElement)`) {
			return
		}
	}
	t.Fatalf("Tab does not reach what is %s", condition)
}

func followLink(t *testing.T, p *tab) {
	t.Helper()
	p.open(t, "/")
	p.press(t, kb.Tab)
	p.press(t, kb.Enter)
	if got := evaluate[string](t, p, `document.activeElement.localName`); got != "main" {
		t.Errorf("the first link skips to %s, want the content", got)
	}
	p.open(t, "/components")
	p.focus(t, `e.getAttribute('href') === '/components/sast'`)
	p.press(t, kb.Enter)
	p.eventually(t, "Enter does not follow a link", `location.pathname === '/components/sast' && document.readyState === 'complete'`)
}

func openDetails(t *testing.T, p *tab) {
	t.Helper()
	p.open(t, "/components/sast")
	p.focus(t, `e.localName === 'summary' && e.parentElement.matches('.transcript')`)
	p.press(t, kb.Enter)
	if !evaluate[bool](t, p, `document.activeElement.parentElement.open && document.activeElement.parentElement.innerText.includes('curl')`) {
		t.Error("Enter does not open a transcript, or it has no line for curl")
	}
}

// probeByKeyboard probes a component with keys.
func probeByKeyboard(t *testing.T, p *tab) {
	t.Helper()
	p.open(t, "/components/writer")
	before := evaluate[string](t, p, `document.querySelector('#proof').innerText`)
	p.focus(t, `e.localName === 'button' && e.textContent.includes('Probe now')`)
	p.press(t, kb.Enter)
	p.eventually(t, "Probe now says nothing", `document.querySelector('#outcome').textContent.trim() !== '' && document.readyState === 'complete'`)
	p.eventually(t, "Probe now shows no new proof", fmt.Sprintf(`document.querySelector('#proof').innerText !== %q`, before))
	if path := evaluate[string](t, p, `location.pathname`); path != "/components/writer" {
		t.Errorf("after Probe now the page is %s", path)
	}
}

// walkWithoutScripts looks at every page with scripts switched off, and probes.
func walkWithoutScripts(t *testing.T, s *scene, b *browser) {
	p := b.tab(t, s.address)
	command(t, p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	titles := map[string]string{}
	for _, place := range s.visits(t) {
		if status := p.open(t, place.path); status != place.status {
			t.Errorf("%s answers %d without scripts, want %d", place.path, status, place.status)
		}
		p.isWhole(t, place, titles)
	}
	if p.count("/api/v1/events") > 0 {
		t.Error("scripts ran although they were switched off")
	}
	p.open(t, "/components/scanner")
	p.focus(t, `e.localName === 'button' && e.textContent.includes('Probe now')`)
	p.press(t, kb.Enter)
	p.eventually(t, "the form does not come back with what was found",
		`location.pathname.startsWith('/components/scanner') && (document.querySelector('#outcome')?.textContent ?? '').trim() !== ''`)
	p.isFine(t, "Probe now without scripts")
	p.open(t, "/components")
	if !evaluate[bool](t, p, `document.querySelectorAll('form').length > 0`) {
		t.Error("the list of components cannot be searched without scripts")
	}
}

// count is how often an address of the server was asked for.
func (p *tab) count(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[path]
}

// readTimes looks at moments as a reader in India.
func readTimes(t *testing.T, s *scene, b *browser) {
	p := b.tab(t, s.address)
	command(t, p, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
	p.open(t, "/tasks/"+s.tasks["verified"])
	moments := evaluate[[]struct{ At, Text, Title string }](t, p,
		`[...document.querySelectorAll('main time:not([data-age])')].map(e => ({at: e.dateTime, text: e.textContent, title: e.title}))`)
	if len(moments) < 3 {
		t.Errorf("a task with three transitions has %d moments", len(moments))
	}
	india := time.FixedZone("IST", 5*3600+1800)
	for _, moment := range moments {
		at, err := time.Parse(time.RFC3339Nano, moment.At)
		must(t, err)
		if want := at.In(india).Format("2006-01-02 15:04:05"); moment.Text != want {
			t.Errorf("%s is shown as %s, want %s", moment.At, moment.Text, want)
		}
		if want := at.UTC().Format("2006-01-02 15:04:05"); !strings.Contains(moment.Title, want) || !strings.Contains(moment.Title, "UTC") {
			t.Errorf("%s has the title %q, want %s UTC", moment.At, moment.Title, want)
		}
	}
	p.isFine(t, "times")
}
