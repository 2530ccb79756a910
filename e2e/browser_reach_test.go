//go:build unix

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

const (
	// reachWithin is how soon after a server breaks the pages that are open show it, when
	// it is probed every reachInterval, which is the shortest interval there is.
	reachWithin   = 2 * time.Second
	reachInterval = time.Second
	// reachTimes is how often it is measured. The machine may be busy now and then, so it
	// is the middle one that counts.
	reachTimes = 5
)

// watchFor notes when an element first says a status, by the clock of the machine, on
// which the test runs too.
const watchFor = `(() => {
	const says = () => document.querySelector('%[1]s')?.textContent.includes('unavailable') ?? false;
	window.shownAt = 0;
	new MutationObserver(() => { if (!window.shownAt && says()) window.shownAt = Date.now(); })
		.observe(document.body, {subtree: true, childList: true, characterData: true});
	return !says();
})()`

// works says whether an element is there and says that all is well, or is gone from
// the list of what needs attention.
const works = `(text => text.includes('available') && !text.includes('unavailable'))(document.querySelector('%s')?.textContent ?? 'available')`

// TestPages_showWithinTwoSecondsThatAServerBroke measures from the moment at which a
// server breaks, with everything that lies between: the time until it is probed, the
// probe, its record, the event, and the reading of the page. It breaks early and late
// in the interval in turn.
func TestPages_showWithinTwoSecondsThatAServerBroke(t *testing.T) {
	t.Parallel()
	double, folder := newSceneServer("port-scanner", "1.4.0", sceneTool{"nmap_scan", "Scan the ports of a target.", ""}), t.TempDir()
	configure(t, folder, fmt.Sprintf("components:\n  scanner: {kind: mcp_server, url: %q, interval: %s, ttl: 1h}\n", listenAs(t, double.handler()), reachInterval))
	serve := start(t, folder, environment(t), binary(), "serve", "--db", sqlite(t), "--listen", "127.0.0.1:0")
	address, b := serve.await(t, servedAt.String())[1], newBrowser(t)
	places := []struct{ path, element string }{{"/", "#component-scanner"}, {"/components", "#component-scanner"}, {"/components/scanner", "#status"}}
	tabs, took := make([]*tab, len(places)), make([][]time.Duration, len(places))
	for i, place := range places {
		tabs[i] = b.tab(t, address)
		tabs[i].open(t, place.path)
	}
	for n := range reachTimes {
		double.mood.Store(int32(moodWell))
		for i, place := range places {
			tabs[i].eventually(t, place.path+" does not show that it works", fmt.Sprintf(works, place.element))
			if !evaluate[bool](t, tabs[i], fmt.Sprintf(watchFor, place.element)) {
				t.Fatalf("%s says that it is broken before it is", place.path)
			}
		}
		<-time.After(reachInterval * time.Duration(n) / reachTimes)
		broke := time.Now()
		double.mood.Store(int32(moodBroken))
		for i, place := range places {
			tabs[i].eventually(t, place.path+" does not show that it broke", `window.shownAt > 0`)
			took[i] = append(took[i], time.UnixMilli(int64(evaluate[float64](t, tabs[i], `window.shownAt`))).Sub(broke))
		}
	}
	for i, place := range places {
		slices.Sort(took[i])
		t.Logf("%s shows it after %v", place.path, took[i])
		if middle := took[i][reachTimes/2]; middle > reachWithin {
			t.Errorf("%s shows that a server broke after %v, want %v (all: %v)", place.path, middle, reachWithin, took[i])
		}
		if took[i][0] < 0 {
			t.Errorf("%s shows it before it broke", place.path)
		}
		tabs[i].isFine(t, place.path)
	}
}
