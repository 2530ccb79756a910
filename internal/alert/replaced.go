package alert

import (
	"slices"
	"time"
)

// next is what is to be delivered first to a receiver under the key of an alert: the end of
// an older one that it may think fires, or else the alert as it is.
func (a *Alert) next(d *Delivery) Alert {
	open := d.open()
	if open == "" || open == a.ID {
		return *a
	}
	// Of one that is not remembered all that is known is that it ended before this one.
	from := Replaced{Since: a.Since, EndedAt: a.Since, Ended: "another alert about " + a.Subject + " has taken its place"}
	if i := slices.IndexFunc(a.Content.Replaced, func(r Replaced) bool { return r.ID == open }); i >= 0 {
		from = a.Content.Replaced[i]
	}
	ended := Alert{
		ID: open, Key: a.Key, Kind: a.Kind, Subject: a.Subject, State: Resolved, Since: from.Since, EndedAt: from.EndedAt, ChangedAt: a.ChangedAt,
		Content: Content{Component: from.Component, Ended: from.Ended},
	}
	if from.Cause != "" {
		ended.Content.Causes = append(ended.Content.Causes, from.Cause)
	}
	return ended
}

// open is the id of the alert that the receiver may think fires; empty when there is
// none. It is never more than one, since an end comes before the next beginning.
func (d *Delivery) open() string {
	switch {
	case d == nil || !d.MayFire:
		return ""
	case d.Taken.State == Firing:
		return d.Taken.AlertID
	}
	return d.Tried.AlertID
}

// replace has alerts that take the place of others remember those whose end is still
// to be delivered to one of the receivers. Only a run's alert is replaced while it fires.
func (b *book) replace(made []Alert, receivers []Receiver, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range made {
		before, is := b.alerts[made[i].Key]
		if !is || before.ID == made[i].ID {
			continue
		}
		over := *before
		if over.State == Firing {
			over = before.ended(made[i].Since, now, before.Subject+" started on other fallbacks")
		}
		isOpen := func(id string) bool {
			return slices.ContainsFunc(receivers, func(r Receiver) bool { return b.deliveries[deliveryKey{r.Name, over.Key}].open() == id })
		}
		kept := slices.DeleteFunc(slices.Clone(before.Content.Replaced), func(r Replaced) bool { return !isOpen(r.ID) })
		if isOpen(over.ID) || b.busy[over.Key] > 0 { // It may be under way to one just now.
			kept = append(kept, Replaced{
				ID: over.ID, Since: over.Since, EndedAt: over.EndedAt, Ended: over.Content.Ended,
				Component: over.Content.Component, Cause: firstCause(over.Content.Causes),
			})
		}
		made[i].Content.Replaced = kept
	}
}

// retry makes all that is being tried due now, and what was given up too.
func (b *book) retry(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.deliveries {
		d.Next = time.Time{}
		if d.GivenUp {
			d.GivenUp, d.TriedSince, d.Attempts = false, toMillisecond(now), 0
		}
	}
}
