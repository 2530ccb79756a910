package examiner

import (
	"context"

	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Budgets counts what the probes of components with a daily budget spend. The
// count is that of every process on the store. Fault of each method: Unavailable.
type Budgets interface {
	// TakeTokens counts tokens as spent in a day (UTC, from the Unix epoch) unless
	// more than the limit would be, and reports whether it did.
	TakeTokens(ctx context.Context, component string, day int64, tokens, limit int) (bool, error)
	// SettleTokens corrects what is spent in a day.
	SettleTokens(ctx context.Context, component string, day int64, difference int) error
}

// purse is the budget of one component during one probe.
type purse struct {
	examiner  *Examiner
	component string
	limit     int
	day       int64 // of the latest Take
}

// purseOf returns what a component may spend; nil when that is not limited.
func (e *Examiner) purseOf(component *registry.Component) probe.Purse {
	spec, ok := component.Spec.(registry.Budgeted)
	if !ok || spec.DailyBudget() == 0 {
		return nil
	}
	return &purse{examiner: e, component: component.Name, limit: spec.DailyBudget()}
}

const secondsOfDay = 24 * 60 * 60

// Take implements probe.Purse.
func (p *purse) Take(ctx context.Context, tokens int) (bool, error) {
	p.day = p.examiner.now().Unix() / secondsOfDay
	return p.examiner.Store.TakeTokens(ctx, p.component, p.day, tokens, p.limit)
}

// Settle implements probe.Purse. What is settled after midnight is of the day on
// which it was taken.
func (p *purse) Settle(ctx context.Context, taken, needed int) error {
	if taken == needed {
		return nil
	}
	return p.examiner.Store.SettleTokens(ctx, p.component, p.day, needed-taken)
}
