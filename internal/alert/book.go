package alert

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/feed"
)

// book is all that is kept, in memory: of the one process that holds the lease,
// which writes every change to the store first.
type book struct {
	mu         sync.Mutex
	position   *feed.Position
	alerts     map[string]*Alert // by key
	deliveries map[deliveryKey]*Delivery
	busy       map[string]int // keys of alerts that are being delivered just now
	most       int            // alerts that are kept
}

// deliveryKey is a receiver and the key of an alert.
type deliveryKey struct{ receiver, key string }

// newBook is the book of all that is kept.
func newBook(kept Kept, most int) *book {
	b := &book{
		position: kept.Position, alerts: make(map[string]*Alert, len(kept.Alerts)),
		deliveries: make(map[deliveryKey]*Delivery, len(kept.Deliveries)), busy: map[string]int{}, most: most,
	}
	for i := range kept.Alerts {
		b.alerts[kept.Alerts[i].Key] = &kept.Alerts[i]
	}
	for i := range kept.Deliveries {
		d := &kept.Deliveries[i]
		b.deliveries[deliveryKey{d.Receiver, d.Key}] = d
	}
	return b
}

// take makes a change that was written.
func (b *book) take(change *Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if change.Move != nil {
		b.position = &change.Move.To
	}
	for i := range change.Alerts {
		b.alerts[change.Alerts[i].Key] = &change.Alerts[i]
	}
	for i := range change.Deliveries {
		d := &change.Deliveries[i]
		b.deliveries[deliveryKey{d.Receiver, d.Key}] = d
	}
	for _, key := range change.Gone {
		delete(b.alerts, key)
	}
	if len(change.Gone)+len(change.Forgotten) == 0 {
		return
	}
	for at := range b.deliveries {
		if _, is := b.alerts[at.key]; !is || slices.Contains(change.Forgotten, at.receiver) {
			delete(b.deliveries, at)
		}
	}
}

// alert returns the alert with a key.
func (b *book) alert(key string) (Alert, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, is := b.alerts[key]
	if !is {
		return Alert{}, false
	}
	return *found, true
}

// firing returns the alerts of a kind that fire, in the order of their keys.
func (b *book) firing(kind Kind) []Alert {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []Alert
	for _, each := range b.alerts {
		if each.Kind == kind && each.State == Firing {
			found = append(found, *each)
		}
	}
	slices.SortFunc(found, func(x, y Alert) int { return cmp.Compare(x.Key, y.Key) })
	return found
}

// counts returns how many alerts of each kind fire.
func (b *book) counts() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts := map[string]int{string(OfComponent): 0, string(OfRun): 0, string(OfTask): 0, string(OfAlerts): 0}
	for _, each := range b.alerts {
		if each.State == Firing {
			counts[string(each.Kind)]++
		}
	}
	return counts
}

// room is how many more alerts may be kept.
func (b *book) room() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.most - len(b.alerts)
}

// admit leaves out alerts that are new and for which there is no room, and tells
// whether there were any.
func (b *book) admit(alerts []Alert) (admitted []Alert, refused bool) {
	room := b.room()
	for i := range alerts {
		if _, is := b.alert(alerts[i].Key); !is {
			if room <= 0 {
				refused = true
				continue
			}
			room--
		}
		admitted = append(admitted, alerts[i])
	}
	return admitted, refused
}

// removable returns the keys of up to limit alerts that need not be kept: they ended
// long enough ago to be another trouble if they come back, and nothing is still to
// be delivered; or could not be for too long.
func (b *book) removable(now time.Time, receivers []Receiver, limit int) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var keys []string
	for key, a := range b.alerts {
		ago := now.Sub(a.ChangedAt)
		if a.State == Firing || ago < SoonAgain || b.busy[key] > 0 || len(keys) == limit {
			continue
		}
		open := slices.ContainsFunc(receivers, func(r Receiver) bool {
			d := b.deliveries[deliveryKey{r.Name, key}]
			next := a.next(d)
			_, is := due(&next, d, 0, now)
			return is && r.wants(a.Kind)
		})
		if !open || ago > ForgetAfter {
			keys = append(keys, key)
		}
	}
	return keys
}

// formerReceivers returns whose deliveries are kept and who is no receiver any more.
func (b *book) formerReceivers(receivers []Receiver) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	for at := range b.deliveries {
		known := slices.ContainsFunc(receivers, func(r Receiver) bool { return r.Name == at.receiver })
		if !known && !slices.Contains(names, at.receiver) {
			names = append(names, at.receiver)
		}
	}
	return names
}

// pending is something to be delivered.
type pending struct {
	alert    Alert
	delivery Delivery
	due      time.Time
	inTheWay bool // it is an old end, and what fires now waits for it
}

func (p *pending) notification() Notification { return Notification{p.alert.ID, p.alert.State} }

// reminder reports whether the receiver has taken this already, and is to have it
// again before it takes it for ended.
func (p *pending) reminder() bool { return p.delivery.Taken == p.notification() }

// pending returns what is to be delivered to a receiver: what is due now, the most urgent
// first, and then the rest as it comes due. What fires is sent again every so
// often, unless that is 0.
func (b *book) pending(r *Receiver, again time.Duration, now time.Time) []pending {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []pending
	for key, a := range b.alerts {
		if !r.wants(a.Kind) {
			continue
		}
		d := b.deliveries[deliveryKey{r.Name, key}]
		one := pending{alert: a.next(d), delivery: Delivery{Receiver: r.Name, Key: key}}
		one.inTheWay = one.alert.ID != a.ID && a.State == Firing
		if d != nil {
			one.delivery = *d
		}
		var is bool
		if one.due, is = due(&one.alert, d, again, now); is {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(x, y pending) int {
		return cmp.Or(cmp.Compare(x.waits(now), y.waits(now)), cmp.Compare(x.alert.Kind.urgency(), y.alert.Kind.urgency()),
			x.due.Compare(y.due), x.alert.ChangedAt.Compare(y.alert.ChangedAt), cmp.Compare(x.alert.Key, y.alert.Key))
	})
	return found
}

// waits is how long it is not to be delivered.
func (p *pending) waits(now time.Time) time.Duration { return max(p.due.Sub(now), 0) }

// hold keeps alerts from being removed, as long as they are still what they were;
// it returns those.
func (b *book) hold(of []pending) []pending {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := of[:0:0]
	for i := range of {
		a, is := b.alerts[of[i].alert.Key]
		if !is {
			continue
		}
		if next := a.next(b.deliveries[deliveryKey{of[i].delivery.Receiver, a.Key}]); (Notification{next.ID, next.State}) == of[i].notification() {
			b.busy[a.Key]++
			held = append(held, of[i])
		}
	}
	return held
}

func (b *book) release(held []pending) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range held {
		if key := held[i].alert.Key; b.busy[key] > 1 {
			b.busy[key]--
		} else {
			delete(b.busy, key)
		}
	}
}

// due tells whether there is anything to deliver of an alert, and from when on. A
// newer notification takes the place of one that was not taken yet; an end goes only to
// whoever may think that the alert fires. A clock that was set back, or that of
// another process, puts nothing off.
func due(a *Alert, d *Delivery, again time.Duration, now time.Time) (time.Time, bool) {
	if d == nil {
		d = &Delivery{}
	}
	switch notification := (Notification{a.ID, a.State}); {
	case a.State == Resolved && !d.MayFire:
		return time.Time{}, false
	case d.Taken == notification:
		at := d.TakenAt.Add(again)
		if d.TakenAt.After(now) {
			at = now
		}
		if next := clamped(d.Next, now); next.After(at) {
			at = next
		}
		return at, again > 0 && a.State == Firing
	case d.Tried == notification:
		return clamped(d.Next, now), !d.GivenUp
	}
	return time.Time{}, true
}
