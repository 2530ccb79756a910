package patrol

import (
	"context"
	"errors"
	"time"

	"github.com/countersign-dev/countersign/internal/lease"
)

// errVacant says that nothing is registered any more.
var errVacant = errors.New("nothing is registered")

// Run patrols, or stands by while another process does, until ctx is done. It
// then gives the lease back and returns nil. It is to be called once.
func (p *Patrol) Run(ctx context.Context) error {
	p.note(func() { p.running, p.assured = true, time.Now() })
	defer p.note(func() { p.running = false })
	duty := lease.Duty{
		Name: "the patrol", Does: "patrols", Store: p.store, Holder: p.holder, Log: p.log,
		Wanted: p.occupied, Changed: p.reloads, Others: p.assure, Work: p.serve,
	}
	duty.Run(ctx)
	return nil
}

// assure notes that another process patrols.
func (p *Patrol) assure() { p.note(func() { p.assured = time.Now() }) }

// note changes what Health sees.
func (p *Patrol) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// occupied reports whether anything is registered. A process without components
// must not keep the lease from one that has some.
func (p *Patrol) occupied() bool {
	vacant := len(p.examiner.Registered().Components) == 0
	p.note(func() {
		if p.vacant = vacant; vacant {
			p.assured = time.Now()
		}
	})
	return !vacant
}

// serve patrols under a hold of the lease until it is lost, ctx is done, or nothing
// is registered any more.
func (p *Patrol) serve(ctx context.Context, hold *lease.Hold) error {
	err := p.newShift(hold).run(ctx)
	p.note(func() {
		if p.onDuty != nil {
			p.onDuty, p.assured = nil, time.Now()
		}
	})
	p.observer.Holding(false)
	if errors.Is(err, errVacant) {
		return nil
	}
	return err
}
