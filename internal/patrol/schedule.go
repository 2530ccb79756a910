package patrol

import (
	"container/heap"
	"context"
	"sync/atomic"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// entry is one component in the schedule.
type entry struct {
	name       string
	component  *registry.Component
	definition string
	policy     registry.Policy
	host       string

	standing registry.Standing // what the results add up to, as far as this process has seen them
	settled  registry.Status   // the last status that results settled
	hurried  int               // probes that are still to come early, after a change

	// What the batch alone reads and writes once there are results: the tools that it
	// has compared with the accepted ones, those of which it has warned, and the
	// status that the log has told last, or that was there before.
	compared, warned string
	told             registry.Status

	due    time.Time
	began  time.Time          // of the last probe, whoever made it; zero when none is known
	cancel context.CancelFunc // of the probe under way; nil when there is none
	gone   atomic.Bool        // it is no longer registered, or as something else
}

func (e *entry) running() bool { return e.cancel != nil }

// adopt gives the entry a component that is what it was, but may have another
// interval or other thresholds. It reports whether it is now due at once.
func (e *entry) adopt(component *registry.Component, now time.Time) bool {
	interval := e.policy.Interval
	e.component, e.policy = component, component.Policy()
	if interval == e.policy.Interval || e.began.IsZero() {
		return false
	}
	e.due = next(e.began, e.name, e.policy.Interval)
	return e.due.Before(now)
}

// reschedule sets the next due time after a probe that has ended by now.
func (e *entry) reschedule(now time.Time) {
	if e.hurried > 0 {
		e.hurried--
		e.due = quick(e.began, e.policy.Interval)
		if e.due.Before(now) {
			e.due = now
		}
		return
	}
	e.due = next(e.began, e.name, e.policy.Interval)
	if e.due.Before(now) {
		// It took longer than its interval. What was missed meanwhile stays missed.
		e.due = onPhase(now, phase(e.name, e.policy.Interval), e.policy.Interval)
	}
}

// observe adds a result to what is known, and hurries after a change between
// available and unavailable.
func (e *entry) observe(record *registry.Record) {
	known, _ := registry.Known{Registration: record.Registration, Standing: e.standing}.After(*record)
	e.standing = known.Standing
	settled := e.standing.Settled
	if settled == "" || settled == e.settled {
		return
	}
	if e.settled != "" {
		e.hurried = quickProbes
	}
	e.settled = settled
}

// host is what the components of one host share.
type host struct {
	running int
	parked  []*entry // due, and waiting until fewer probes of the host run
}

// schedule is a heap of due times with limits. A component that waits for its
// host is taken out of the heap, so that it delays no other and nothing is spent
// on its waiting. It is not safe for concurrent use.
type schedule struct {
	entries map[string]*entry
	queue   queue
	hosts   map[string]*host
	running int // also of entries that are gone
}

func newSchedule() *schedule {
	return &schedule{entries: map[string]*entry{}, hosts: map[string]*host{}}
}

// replace puts other entries in the place of all; those that run are kept in mind
// until they end.
func (s *schedule) replace(entries []*entry) {
	present := make(map[string]*entry, len(entries))
	s.queue.heap = nil
	for _, e := range entries {
		present[e.name] = e
		if !e.running() {
			s.queue.heap = append(s.queue.heap, e)
		}
	}
	for name, e := range s.entries {
		if present[name] == e {
			continue
		}
		e.gone.Store(true)
		if e.running() {
			e.cancel()
		}
	}
	for name, at := range s.hosts {
		at.parked = nil
		s.tidy(name, at)
	}
	s.entries = present
	heap.Init(&s.queue)
}

// take returns a component that is due and may be probed now, or nil and when
// the next one is due; a zero time when that depends on a probe that is to end.
func (s *schedule) take(now time.Time, limits Limits) (*entry, time.Time) {
	for s.queue.Len() > 0 && s.running < max(1, limits.Concurrency) {
		first := s.queue.first()
		if first.due.After(now) {
			return nil, first.due
		}
		heap.Pop(&s.queue)
		at := s.at(first.host)
		if at.running < max(1, limits.PerHost) {
			return first, time.Time{}
		}
		at.parked = append(at.parked, first)
	}
	return nil, time.Time{}
}

func (s *schedule) at(name string) *host {
	found, ok := s.hosts[name]
	if !ok {
		found = &host{}
		s.hosts[name] = found
	}
	return found
}

// begin counts a probe that starts.
func (s *schedule) begin(e *entry, now time.Time, cancel context.CancelFunc) {
	e.began, e.cancel = now, cancel
	s.running++
	s.at(e.host).running++
}

// end counts a probe that has ended, and lets the next of its host have a turn.
func (s *schedule) end(e *entry, limits Limits) {
	e.cancel()
	e.cancel = nil
	s.running--
	at := s.at(e.host)
	at.running--
	for free := max(1, limits.PerHost) - at.running; free > 0 && len(at.parked) > 0; free-- {
		heap.Push(&s.queue, at.parked[0])
		at.parked = at.parked[1:]
	}
	s.tidy(e.host, at)
}

// tidy forgets a host that nothing runs on.
func (s *schedule) tidy(name string, at *host) {
	if at.running == 0 && len(at.parked) == 0 {
		delete(s.hosts, name)
	}
}

// again puts a component back with a due time.
func (s *schedule) again(e *entry) { heap.Push(&s.queue, e) }

// queue is a heap of components by their due time.
type queue struct{ heap []*entry }

// Len implements heap.Interface.
func (q *queue) Len() int { return len(q.heap) }

// Less implements heap.Interface.
func (q *queue) Less(i, j int) bool { return q.heap[i].due.Before(q.heap[j].due) }

// Swap implements heap.Interface.
func (q *queue) Swap(i, j int) { q.heap[i], q.heap[j] = q.heap[j], q.heap[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { q.heap = append(q.heap, x.(*entry)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(q.heap) - 1
	e := q.heap[last]
	q.heap[last] = nil
	q.heap = q.heap[:last]
	return e
}

// first returns the component that is due first; nil when there is none.
func (q *queue) first() *entry {
	if len(q.heap) == 0 {
		return nil
	}
	return q.heap[0]
}
