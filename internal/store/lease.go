package store

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/registry"
)

// A lease that was released has no holder, and its fence no longer holds.
const (
	updateBeat = `UPDATE leases SET beat = beat + 1 WHERE name = 'patrol' AND fence = $1 AND holder <> ''`

	selectLease = `SELECT holder, fence, beat FROM leases WHERE name = 'patrol'`

	updateLease = `UPDATE leases SET holder = $1, fence = fence + 1, beat = beat + 1
WHERE name = 'patrol' AND holder = $2 AND fence = $3 AND beat = $4`

	updateReleased = `UPDATE leases SET holder = '', beat = beat + 1 WHERE name = 'patrol' AND fence = $1 AND holder <> ''`
)

func scanLease(from row) (registry.Lease, error) {
	var lease registry.Lease
	err := from.Scan(&lease.Holder, &lease.Fence, &lease.Beat)
	return lease, err
}

func readLease(ctx context.Context, in session) (registry.Lease, error) {
	lease, found, err := first(ctx, in, scanLease, selectLease)
	if err == nil && !found {
		err = errors.New("the row of the lease is gone")
	}
	return lease, err
}

// Lease returns the lease of the patrol as it is. Faults: Unavailable.
func (d *Database) Lease(ctx context.Context) (registry.Lease, error) {
	var lease registry.Lease
	err := d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		lease, err = readLease(ctx, in)
		return err
	})
	return lease, d.explained("read the lease of the patrol", err)
}

// TakeLease takes the lease of the patrol for a holder if it is still as it was
// seen, and raises its fence. It returns the lease as it is then, and whether it
// was taken. The name of a holder is that of one process and never used again.
// Faults: Unavailable.
func (d *Database) TakeLease(ctx context.Context, seen registry.Lease, holder string) (registry.Lease, bool, error) {
	if holder == "" {
		return registry.Lease{}, false, errors.New("a lease was asked for without the name of its holder")
	}
	var lease registry.Lease
	err := d.atomic(ctx, func(ctx context.Context, in session, _ int) error {
		if _, err := in.ExecContext(ctx, updateLease, holder, seen.Holder, seen.Fence, seen.Beat); err != nil {
			return err
		}
		var err error
		lease, err = readLease(ctx, in)
		return err
	})
	// Read and not counted: an attempt whose answer was lost has taken it too.
	taken := err == nil && lease.Holder == holder && lease.Fence == seen.Fence+1
	return lease, taken, d.explained("take the lease of the patrol", err)
}

// Beat shows that the holder of the lease lives. It returns
// registry.ErrLeaseLost when the fence is not that of the lease any more.
// Faults: Unavailable.
func (d *Database) Beat(ctx context.Context, fence int64) error {
	return d.Record(ctx, &fence, nil)
}

// beat raises the beat of a lease that still has the fence.
func beat(ctx context.Context, in session, fence int64) error {
	result, err := in.ExecContext(ctx, updateBeat, fence)
	if err != nil {
		return err
	}
	raised, err := result.RowsAffected()
	if err == nil && raised == 0 {
		return registry.ErrLeaseLost
	}
	return err
}

// ReleaseLease gives the lease up, so that another process need not wait until
// it has lapsed. A lease with another fence stays as it is. Faults: Unavailable.
func (d *Database) ReleaseLease(ctx context.Context, fence int64) error {
	err := d.atomic(ctx, func(ctx context.Context, in session, _ int) error {
		_, err := in.ExecContext(ctx, updateReleased, fence)
		return err
	})
	return d.explained("release the lease of the patrol", err)
}
