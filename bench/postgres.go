package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
)

// connections is how many write to PostgreSQL at once.
const connections = 32

// onPostgres compares the store on PostgreSQL with its bare statements.
func onPostgres(ctx context.Context, l *lab) (section, error) {
	url, stop, err := storetest.DurablePostgres() //nolint:contextcheck // the server outlives no context: stop ends it
	if err != nil {
		return section{}, err
	}
	found, err := l.comparePostgres(ctx, url)
	return found, errors.Join(err, stop())
}

func (l *lab) comparePostgres(ctx context.Context, url string) (found section, err error) {
	database, err := store.Open(ctx, url, store.Options{Connections: connections})
	if err != nil {
		return section{}, err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	pool, err := sql.Open("pgx", url)
	if err != nil {
		return section{}, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	sides := map[string]writer{sideOurs: stored{database}, sideBare: barePostgres{pool}}
	rates, middle, slow := map[string]series{}, map[string]series{}, map[string]series{}
	for round := range l.rounds + 1 {
		for _, side := range l.order(round) {
			l.progress("postgres: round %d of %d, %s", round, l.rounds, side)
			seen, err := driveTogether(ctx, sides[side], l.roundFor)
			if err != nil {
				return section{}, err
			}
			if round == 0 {
				continue // Connections are made and statements prepared.
			}
			rates[side] = append(rates[side], seen.rate)
			middle[side] = append(middle[side], percentile(seen.waits, 0.5))
			slow[side] = append(slow[side], percentile(seen.waits, 0.99))
		}
	}
	return section{
		title: fmt.Sprintf("PostgreSQL, %d connections", connections),
		method: fmt.Sprintf("%d goroutines make task after task for %v in %d rounds against a private server on a Unix socket, `fsync` on. "+
			"Beside `internal/store` stand the same statements, run by `database/sql` and the same driver. One unmeasured round comes first.", connections, l.roundFor, l.rounds),
		ours: "`internal/store`", beside: "bare statements",
		figures: []figure{
			{
				name: "transitions per second", ours: rates[sideOurs], beside: rates[sideBare],
				value: rates[sideOurs].over(rates[sideBare]), target: &target{atLeast, 0.7, "x"},
			},
			{name: "call, p50", unit: " ms", ours: middle[sideOurs], beside: middle[sideBare], value: middle[sideOurs].over(middle[sideBare])},
			{name: "call, p99", unit: " ms", ours: slow[sideOurs], beside: slow[sideBare], value: slow[sideOurs].over(slow[sideBare])},
		},
	}, nil
}

// driveTogether lets one writer be used by many at once.
func driveTogether(ctx context.Context, to writer, length time.Duration) (crowd, error) {
	tallies := make([]tally, connections)
	end := time.Now().Add(length)
	var group errgroup.Group
	for i := range tallies {
		group.Go(func() error {
			var err error
			tallies[i], err = drive(ctx, to, agentsOf(i), end)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return crowd{}, err
	}
	seen := together(tallies, length.Seconds())
	if seen.lockErrors > 0 {
		return crowd{}, fmt.Errorf("%d calls were refused, first: %s", seen.lockErrors, seen.firstError)
	}
	return seen, nil
}
