package alert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

// fire makes an alert that fires. Fault: Unavailable.
func fire(kind Kind, subject string, since, now time.Time, content Content) (Alert, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Alert{}, fault.New(fault.Unavailable, "no id could be made for an alert: %v", err)
	}
	return Alert{
		ID: id.String(), Key: keyOf(kind, subject), Kind: kind, Subject: subject, State: Firing,
		Since: toMillisecond(since), ChangedAt: toMillisecond(now), Content: content,
	}, nil
}

// toMillisecond is a moment as precisely as it is kept.
func toMillisecond(at time.Time) time.Time { return at.UTC().Truncate(time.Millisecond) }

// ended is the alert when it has ended.
func (a *Alert) ended(at, now time.Time, how string) Alert {
	over := *a
	over.State, over.EndedAt, over.ChangedAt, over.EndsAt = Resolved, toMillisecond(at), toMillisecond(now), time.Time{}
	if over.EndedAt.Before(over.Since) {
		over.EndedAt = over.Since
	}
	over.Content.Ended = how
	return over
}

// ofComponent returns what becomes of a component's alert, and whether anything
// does. A component that is probing or unknown changes nothing. The first return
// to available ends the alert at once; when the component has failed again soon after,
// the alert ends only once it has been available for SteadyFor, and never while it
// is flapping.
func ofComponent(before *Alert, r *registry.Reading, now time.Time) (Alert, bool, error) {
	fires := before != nil && before.State == Firing
	began := now
	if at, err := time.Parse(time.RFC3339, r.Since); err == nil {
		began = at
	}
	switch {
	case r.Status == registry.Unavailable && !fires:
		made, err := fire(OfComponent, r.Name, began, now, contentOfComponent(r))
		if before != nil && now.Sub(before.ChangedAt) < SoonAgain {
			made.Again = before.Again + 1
		}
		return made, err == nil, err
	case r.Status != registry.Available || !fires || r.Flapping:
		return Alert{}, false, nil
	case before.Again > 0 && now.Sub(began) < SteadyFor:
		return Alert{}, false, nil
	}
	return before.ended(began, now, r.Name+" is available again"), true, nil
}

// ofRun returns what becomes of a run's alert by the newest preflight that let it
// start, and whether anything does.
func ofRun(before *Alert, kept *registry.KeptPreflight, now time.Time) (Alert, bool, error) {
	if before != nil && kept.At.Before(before.Since) {
		return Alert{}, false, nil
	}
	run, slots := kept.Preflight.Run, fallbacksOf(&kept.Preflight)
	fires, ends := before != nil && before.State == Firing, toMillisecond(kept.At.Add(RunFor))
	switch {
	case len(slots) == 0 && fires:
		return before.ended(kept.At, now, run+" started again, without a fallback"), true, nil
	case len(slots) == 0 || !now.Before(ends):
		return Alert{}, false, nil
	case fires && sameSlots(before.Content.Slots, slots):
		extended := *before
		extended.EndsAt = ends
		return extended, ends.After(before.EndsAt), nil
	case before != nil && !before.Since.Before(toMillisecond(kept.At)):
		return Alert{}, false, nil // this start was alerted, and has ended
	}
	made, err := fire(OfRun, run, kept.At, now, contentOfRun(run, slots))
	made.EndsAt = ends
	return made, err == nil, err
}

// expired returns the alerts of runs that end by themselves.
func expired(firing []Alert, now time.Time) []Alert {
	var over []Alert
	for _, a := range firing {
		if !a.EndsAt.IsZero() && !now.Before(a.EndsAt) {
			over = append(over, a.ended(a.EndsAt, now, fmt.Sprintf("%s started on a fallback more than %v ago", a.Subject, words.Spoken(RunFor))))
		}
	}
	return over
}

// ofClaim makes the alert of a claim that waits for its verdict.
func ofClaim(c *Claim, now time.Time) (Alert, error) {
	return fire(OfTask, string(c.TaskID), c.ClaimedAt, now, Content{
		Summary: fmt.Sprintf("a claim has waited for its verdict for %v", words.Spoken(now.Sub(c.ClaimedAt))),
		Title:   registry.Shorten(c.Title, maxTitle), ClaimedBy: string(c.ClaimedBy),
	})
}

// ofClaims returns the alerts that begin and end by the claims that wait for longer than is
// permitted and have none: own is how many have one each. While the alert of many
// fires, no other is made; the end of it comes with those of the claims that still wait.
func ofClaims(many *Alert, waiting []Claim, own int, permitted time.Duration, now time.Time) ([]Alert, error) {
	var made []Alert
	fires, all := many != nil && many.State == Firing, own+len(waiting)
	switch {
	case fires && all > FewClaims:
		return nil, nil
	case fires:
		made = append(made, many.ended(now, now, fmt.Sprintf("no more than %d claims have waited for too long now", FewClaims)))
	case all > ManyClaims && len(waiting) > 0:
		one, err := fire(OfTask, ofMany, now, now, contentOfMany(waiting, own, permitted))
		return []Alert{one}, err
	}
	for i := range waiting {
		one, err := ofClaim(&waiting[i], now)
		if err != nil {
			return nil, err
		}
		made = append(made, one)
	}
	return made, nil
}

// contentOfMany names the oldest claims by their ids, which are no text of agents.
func contentOfMany(waiting []Claim, own int, permitted time.Duration) Content {
	const shown = 3
	var ids []string
	for i := range waiting[:min(len(waiting), shown)] {
		ids = append(ids, string(waiting[i].TaskID))
	}
	number, before, oldest := words.Counted(own+len(waiting), "claim"), "", "the oldest"
	if len(waiting) == MaxWritten { // which is as many as are counted
		number = "at least " + number
	}
	if own > 0 {
		before, oldest = fmt.Sprintf(", %d of them alerted before", own), "the oldest of the rest"
	}
	return Content{Summary: fmt.Sprintf("%s have waited for their verdict for more than %v%s; %s: %s",
		number, words.Spoken(permitted), before, oldest, strings.Join(ids, ", "))}
}

// ofTooMany makes or ends the alert that says that there are more alerts than are
// kept, and tells whether anything becomes of it.
func ofTooMany(before *Alert, refused bool, room, most int, now time.Time) (Alert, bool, error) {
	fires := before != nil && before.State == Firing
	switch {
	case refused && !fires:
		made, err := fire(OfAlerts, "open", now, now, Content{
			Summary: "there are more alerts than are kept; what comes beyond is not alerted on its own",
		})
		return made, err == nil, err
	case fires && !refused && room > most/10:
		return before.ended(now, now, "there is room for alerts again"), true, nil
	}
	return Alert{}, false, nil
}

func contentOfComponent(r *registry.Reading) Content {
	content := Content{
		Summary: r.Name + " is unavailable", Reason: registry.Shorten(r.Reason, maxReason),
		Causes: atMost(slices.Clone(r.Causes), maxCauses), Component: r.Kind,
	}
	if r.ResultID != nil {
		content.ResultID = *r.ResultID
	}
	if entry, known := firstCause(r.Causes).Entry(); known {
		content.Summary += ": " + lowerFirst(strings.TrimSuffix(entry.Sentence, "."))
	}
	return content
}

func contentOfRun(run string, slots []Fallback) Content {
	content := Content{Slots: slots}
	var filled []string
	for _, slot := range slots {
		filled = append(filled, fmt.Sprintf("%s is filled by %s", slot.Slot, slot.Component))
	}
	const shown = 3
	if more := len(filled) - shown; more > 0 {
		filled = append(filled[:shown], fmt.Sprintf("%d more", more))
	}
	content.Summary = fmt.Sprintf("%s started on a fallback: %s", run, strings.Join(filled, ", "))
	if len(slots[0].Failed) > 0 {
		content.Causes, content.Reason = slots[0].Failed[0].Causes, slots[0].Failed[0].Reason
	}
	return content
}

// fallbacksOf returns the slots that are not filled by their primary, when the run
// was let start.
func fallbacksOf(p *registry.Preflight) []Fallback {
	var slots []Fallback
	for i := range p.Slots {
		slot := &p.Slots[i]
		if !p.Allowed || !slot.OK || !slot.Fallback || len(slots) == maxFallbacks {
			continue
		}
		filled := Fallback{Slot: slot.Slot, Component: slot.Component, Failed: []Failed{}}
		for j := range slot.Attempts {
			attempt := &slot.Attempts[j]
			if attempt.Component == slot.Component || len(filled.Failed) == maxFailed {
				break
			}
			filled.Failed = append(filled.Failed, Failed{
				Component: attempt.Component, Causes: atMost(append([]registry.Cause{}, attempt.Causes...), maxCauses),
				Reason: registry.Shorten(attempt.Reason, maxBrief),
			})
		}
		slots = append(slots, filled)
	}
	return slots
}

// sameSlots reports whether the same slots are filled by the same components.
func sameSlots(a, b []Fallback) bool {
	return slices.EqualFunc(a, b, func(x, y Fallback) bool { return x.Slot == y.Slot && x.Component == y.Component })
}

func atMost[T any](list []T, most int) []T { return list[:min(len(list), most)] }

func firstCause(causes []registry.Cause) registry.Cause {
	if len(causes) == 0 {
		return ""
	}
	return causes[0]
}

// lowerFirst is a sentence as it goes on after a colon.
func lowerFirst(sentence string) string {
	if rest, ok := strings.CutPrefix(sentence, "The "); ok {
		return "the " + rest
	}
	return sentence
}
