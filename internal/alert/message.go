package alert

import (
	"net/url"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Message is what a webhook is sent when it has no template of its own. Every field
// is always there; its names are what a template knows.
type Message struct {
	ID       string  `json:"id"`       // of the message: every attempt has the same
	AlertID  string  `json:"alert_id"` // another one each time that the alert fires
	Key      string  `json:"key"`      // the same each time
	State    State   `json:"state"`
	Kind     Kind    `json:"kind"`
	Severity string  `json:"severity"`
	Subject  string  `json:"subject"`
	Summary  string  `json:"summary"`
	URL      string  `json:"url"`      // the page about it
	Since    string  `json:"since"`    // RFC 3339 in UTC
	EndedAt  *string `json:"ended_at"` // null while it fires

	Causes        []CauseDetail `json:"causes"`
	Reason        string        `json:"reason"` // untrusted text
	ComponentKind string        `json:"component_kind"`
	ResultID      string        `json:"result_id"`
	Slots         []Fallback    `json:"slots"`
	Title         string        `json:"title"` // of a task; untrusted text
	ClaimedBy     string        `json:"claimed_by"`
}

// CauseDetail is a cause with what it means and what to do.
type CauseDetail struct {
	Cause    registry.Cause `json:"cause"`
	Sentence string         `json:"sentence"`
	Hint     string         `json:"hint"`
}

// messageOf is an alert as it is sent. Links begin with public.
func messageOf(a *Alert, public string) Message {
	m := Message{
		ID: a.ID + "." + string(a.State), AlertID: a.ID, Key: a.Key, State: a.State, Kind: a.Kind,
		Severity: severityOf(a.Kind), Subject: a.Subject, Summary: a.Summary(), URL: pageOf(a, public), Since: registry.Timestamp(a.Since),
		Causes: []CauseDetail{}, Reason: a.Content.Reason, ComponentKind: string(a.Content.Component), ResultID: a.Content.ResultID,
		Slots: a.Content.Slots, Title: a.Content.Title, ClaimedBy: a.Content.ClaimedBy,
	}
	if a.State == Resolved {
		at := registry.Timestamp(a.EndedAt)
		m.EndedAt = &at
	}
	for _, cause := range a.Content.Causes {
		detail := CauseDetail{Cause: cause}
		if entry, known := cause.Entry(); known {
			detail.Sentence, detail.Hint = entry.Sentence, entry.Hint
		}
		m.Causes = append(m.Causes, detail)
	}
	if m.Slots == nil {
		m.Slots = []Fallback{}
	}
	return m
}

func severityOf(kind Kind) string {
	switch kind {
	case OfComponent:
		return "critical"
	case OfTest:
		return "info"
	case OfRun, OfTask, OfAlerts:
	}
	return "warning"
}

// pageOf is the address of the page about an alert.
func pageOf(a *Alert, public string) string {
	public = strings.TrimSuffix(public, "/")
	switch a.Kind {
	case OfComponent:
		return public + "/components/" + url.PathEscape(a.Subject)
	case OfRun:
		return public + "/runs/" + url.PathEscape(a.Subject)
	case OfTask:
		if a.Subject == ofMany {
			return public + "/tasks?status=claimed&order=oldest"
		}
		return public + "/tasks/" + url.PathEscape(a.Subject)
	case OfTest:
		return public + "/connect"
	case OfAlerts:
	}
	return public + "/"
}

// hintOf is what to do about an alert.
func hintOf(a *Alert) string {
	if a.State == Resolved {
		return ""
	}
	if entry, known := firstCause(a.Content.Causes).Entry(); known {
		return entry.Hint
	}
	switch a.Kind {
	case OfTask:
		if a.Subject == ofMany {
			return "See whether those who are to verify are at work; the page lists the claims, the oldest first."
		}
		return "Have another agent than the prover verify or reject it."
	case OfAlerts:
		return "Look at the pages: what they show is not bounded by this."
	case OfTest:
		return "Nothing is to be done."
	case OfComponent, OfRun:
	}
	return ""
}

// Examples returns an alert of each kind in each state, by which a template is
// tried before it is needed.
func Examples() []Alert {
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	failed := []Failed{{Component: "scanner", Causes: []registry.Cause{registry.Refused}, Reason: "healthz: connection refused"}}
	var examples []Alert
	for _, a := range []Alert{
		{Kind: OfComponent, Subject: "scanner", Content: Content{
			Summary: "scanner is unavailable: the address refuses connections", Reason: "healthz: connection refused",
			Causes: []registry.Cause{registry.Refused}, Component: registry.KindMCPServer, ResultID: "01890a5d-ac96-774b-bcce-b302099a8057",
			Ended: "scanner is available again",
		}},
		{Kind: OfRun, Subject: "nightly", Content: Content{
			Summary: "nightly started on a fallback: recon is filled by scanner-eu", Reason: failed[0].Reason, Causes: failed[0].Causes,
			Slots: []Fallback{{Slot: "recon", Component: "scanner-eu", Failed: failed}},
			Ended: "nightly started again, without a fallback",
		}},
		{Kind: OfTask, Subject: "01890a5d-ac96-774b-bcce-b302099a8058", Content: Content{
			Summary: "a claim has waited for its verdict for 24 hours", Title: `Fix the "flaky" test`, ClaimedBy: "alice",
			Ended: "the claim was verified",
		}},
		{Kind: OfTask, Subject: ofMany, Content: Content{
			Summary: "143 claims have waited for their verdict for more than 24 hours; the oldest: 01890a5d-ac96-774b-bcce-b302099a8058",
			Ended:   "no more than 10 claims have waited for too long now",
		}},
		{Kind: OfAlerts, Subject: "open", Content: Content{Summary: "there are more than 10000 alerts", Ended: "there is room for alerts again"}},
		testAlert(at),
	} {
		a.ID, a.Key, a.State, a.Since, a.ChangedAt = "01890a5d-ac96-774b-bcce-b302099a8059", keyOf(a.Kind, a.Subject), Firing, at, at
		examples = append(examples, a, a.ended(at.Add(time.Minute), at.Add(time.Minute), a.Content.Ended))
	}
	return examples
}
