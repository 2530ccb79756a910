package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/web"
)

// someReceivers are one that fails and two that take what they are told.
func someReceivers() []web.Receiver {
	return []web.Receiver{
		{Name: "alertmanager-1", Kind: "an Alertmanager"},
		{Name: "chat", Kind: "a webhook"},
		{Name: "ops", Kind: "a webhook", FailingSince: noon.Add(-10 * time.Minute), Failures: 3, Reason: "it answered with the status 500", Hint: "Look in the log of the receiver."},
	}
}

func TestReceivers_areTheGoldenPages(t *testing.T) {
	failing, well := foreign(asItIs).opened(t), foreign(asItIs).opened(t)
	failing.Receivers = someReceivers
	well.Receivers = func() []web.Receiver { return someReceivers()[:2] }
	for file, of := range map[string]struct {
		options web.Options
		path    string
	}{
		"overview_untold.html": {failing, "/"}, "connect_told.html": {well, "/connect"},
	} {
		golden(t, file, mainOf(t, visit(t, of.options, of.path).Body.String()))
	}
	if page := visit(t, well, "/").Body.String(); !strings.Contains(page, "Alerts go to <bdi>alertmanager-1, chat</bdi>.") || strings.Contains(page, "do not arrive") {
		t.Errorf("receivers that take what they are told are not told quietly:\n%s", mainOf(t, page))
	}
}

func TestReceivers_areReadForEachPage(t *testing.T) {
	var now []web.Receiver
	options := web.Options{Receivers: func() []web.Receiver { return now }}
	for _, of := range []struct {
		receivers []web.Receiver
		overview  bool // tells of alerts
		connect   bool // teaches how to be told
	}{
		{nil, false, true}, {someReceivers(), true, false}, {[]web.Receiver{}, false, true},
	} {
		now = of.receivers
		if got := strings.Contains(visit(t, options, "/").Body.String(), "Alerts "); got != of.overview {
			t.Errorf("with %d receivers the overview tells of alerts: %v", len(now), got)
		}
		if got := strings.Contains(visit(t, options, "/connect").Body.String(), "hooks.example"); got != of.connect {
			t.Errorf("with %d receivers the page of clients teaches how to be told: %v", len(now), got)
		}
	}
}

func TestReceivers_failInWordsForEachNumberOfTimes(t *testing.T) {
	for failures, want := range map[int]string{0: ", once so far: ", 1: ", once so far: ", 2: ", 2 times in a row: "} {
		one := someReceivers()[2]
		one.Failures = failures
		page := visit(t, web.Options{Receivers: func() []web.Receiver { return []web.Receiver{one} }}, "/").Body.String()
		if !strings.Contains(page, want) || strings.Contains(page, "Alerts go to") {
			t.Errorf("%d failures are not told as %q:\n%s", failures, want, mainOf(t, page))
		}
	}
}

func TestReceivers_showHostileTextAsText(t *testing.T) {
	attack := hostile + strings.Repeat("W", 100<<10)
	options := web.Options{Receivers: func() []web.Receiver {
		return []web.Receiver{
			{Name: attack, Kind: "a webhook", FailingSince: noon, Failures: 1, Reason: attack, Hint: attack},
			{Name: attack, Kind: "a webhook"},
		}
	}}
	page := visit(t, options, "/").Body.String()
	inert(t, mainOf(t, page))
	shapeOf(t, page)
	if len(page) > 32<<10 {
		t.Errorf("the page has %d bytes", len(page))
	}
}
