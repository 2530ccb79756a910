package store

import (
	"context"
	"fmt"
)

const (
	// updateTokens adds to what is spent in a day if that does not pass a limit.
	updateTokens = `INSERT INTO token_days (component, day, tokens) VALUES ($1, $2, $3)
ON CONFLICT (component, day) DO UPDATE SET tokens = token_days.tokens + excluded.tokens
WHERE token_days.tokens + excluded.tokens <= $4`

	updateSettled = `UPDATE token_days SET tokens = CASE WHEN tokens + $3 < 0 THEN 0 ELSE tokens + $3 END WHERE component = $1 AND day = $2`

	deleteTokenDays = `DELETE FROM token_days WHERE day < $1`
)

// TakeTokens counts tokens as spent by a component in a day, numbered from the
// Unix epoch in UTC, if no more than the limit are spent with them, and reports
// whether it did. The count is that of all processes that share the database. It
// removes the days before yesterday. Faults: Unavailable.
func (d *Database) TakeTokens(ctx context.Context, component string, day int64, tokens, limit int) (bool, error) {
	if tokens < 1 {
		return false, fmt.Errorf("%d tokens were to be taken; it must be 1 or more", tokens)
	}
	if tokens > limit {
		return false, nil
	}
	taken := false
	err := d.atomic(ctx, func(ctx context.Context, in session, _ int) error {
		if _, err := in.ExecContext(ctx, deleteTokenDays, day-1); err != nil {
			return err
		}
		result, err := in.ExecContext(ctx, updateTokens, component, day, tokens, limit)
		if err != nil {
			return err
		}
		rows, err := result.RowsAffected()
		taken = rows > 0
		return err
	})
	return taken && err == nil, d.explained("count the tokens of "+component, err)
}

// SettleTokens corrects what a component has spent in a day, after TakeTokens, by
// the difference between what was needed and what was taken. A day that was
// removed in the meantime stays removed. Faults: Unavailable.
func (d *Database) SettleTokens(ctx context.Context, component string, day int64, difference int) error {
	err := d.atomic(ctx, func(ctx context.Context, in session, _ int) error {
		_, err := in.ExecContext(ctx, updateSettled, component, day, difference)
		return err
	})
	return d.explained("settle the tokens of "+component, err)
}
