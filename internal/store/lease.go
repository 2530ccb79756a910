package store

import (
	"context"
	"errors"

	"github.com/countersign-dev/countersign/internal/registry"
)

// leaseName names a lease: of those who do something on a database that only one
// of its processes is to do.
type leaseName string

// The leases.
const (
	leaseOfPatrol leaseName = "patrol"
	leaseOfAlerts leaseName = "alerts"
)

// A lease that was released has no holder, and its fence no longer holds.
const (
	updateBeat = `UPDATE leases SET beat = beat + 1 WHERE name = $1 AND fence = $2 AND holder <> ''`

	selectLease = `SELECT holder, fence, beat FROM leases WHERE name = $1`

	updateLease = `UPDATE leases SET holder = $1, fence = fence + 1, beat = beat + 1
WHERE name = $2 AND holder = $3 AND fence = $4 AND beat = $5`

	updateReleased = `UPDATE leases SET holder = '', beat = beat + 1 WHERE name = $1 AND fence = $2 AND holder <> ''`
)

func scanLease(from row) (registry.Lease, error) {
	var lease registry.Lease
	err := from.Scan(&lease.Holder, &lease.Fence, &lease.Beat)
	return lease, err
}

func readLease(ctx context.Context, in session, name leaseName) (registry.Lease, error) {
	lease, found, err := first(ctx, in, scanLease, selectLease, string(name))
	if err == nil && !found {
		err = errors.New("the row of the lease is gone")
	}
	return lease, err
}

// lease returns a lease as it is. Faults: Unavailable.
func (d *Database) lease(ctx context.Context, name leaseName) (registry.Lease, error) {
	var lease registry.Lease
	err := d.read(ctx, func(ctx context.Context, in session) error {
		var err error
		lease, err = readLease(ctx, in, name)
		return err
	})
	return lease, d.explained("read the lease of the "+string(name), err)
}

// takeLease takes a lease for a holder if it is still as it was seen, and raises
// its fence. It returns the lease as it is then, and whether it was taken. Faults:
// Unavailable.
func (d *Database) takeLease(ctx context.Context, name leaseName, seen registry.Lease, holder string) (registry.Lease, bool, error) {
	if holder == "" {
		return registry.Lease{}, false, errors.New("a lease was asked for without the name of its holder")
	}
	var lease registry.Lease
	err := d.atomic(ctx, func(ctx context.Context, in session, _ int) error {
		if _, err := in.ExecContext(ctx, updateLease, holder, string(name), seen.Holder, seen.Fence, seen.Beat); err != nil {
			return err
		}
		var err error
		lease, err = readLease(ctx, in, name)
		return err
	})
	// Read and not counted: an attempt whose answer was lost has taken it too.
	taken := err == nil && lease.Holder == holder && lease.Fence == seen.Fence+1
	return lease, taken, d.explained("take the lease of the "+string(name), err)
}

// releaseLease gives a lease up. Faults: Unavailable.
func (d *Database) releaseLease(ctx context.Context, name leaseName, fence int64) error {
	err := d.atomic(ctx, func(ctx context.Context, in session, _ int) error {
		_, err := in.ExecContext(ctx, updateReleased, string(name), fence)
		return err
	})
	return d.explained("release the lease of the "+string(name), err)
}

// beat raises the beat of a lease, and reports whether it still has the fence.
func beat(ctx context.Context, in session, name leaseName, fence int64) (held bool, err error) {
	result, err := in.ExecContext(ctx, updateBeat, string(name), fence)
	if err != nil {
		return false, err
	}
	raised, err := result.RowsAffected()
	return raised > 0, err
}

// Lease returns the lease of the patrol as it is. Faults: Unavailable.
func (d *Database) Lease(ctx context.Context) (registry.Lease, error) {
	return d.lease(ctx, leaseOfPatrol)
}

// TakeLease takes the lease of the patrol for a holder if it is still as it was
// seen, and raises its fence. It returns the lease as it is then, and whether it
// was taken. The name of a holder is that of one process and never used again.
// Faults: Unavailable.
func (d *Database) TakeLease(ctx context.Context, seen registry.Lease, holder string) (registry.Lease, bool, error) {
	return d.takeLease(ctx, leaseOfPatrol, seen, holder)
}

// Beat shows that the holder of the lease of the patrol lives. It returns
// registry.ErrLeaseLost when the fence is not that of the lease any more.
// Faults: Unavailable.
func (d *Database) Beat(ctx context.Context, fence int64) error {
	return d.Record(ctx, &fence, nil)
}

// ReleaseLease gives the lease of the patrol up, so that another process need not
// wait until it has lapsed. A lease with another fence stays as it is. Faults:
// Unavailable.
func (d *Database) ReleaseLease(ctx context.Context, fence int64) error {
	return d.releaseLease(ctx, leaseOfPatrol, fence)
}
