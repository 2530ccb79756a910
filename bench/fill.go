package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/task"
)

//go:embed fill.sql
var fillStatements string

const (
	// fillBatch tasks make one transaction; fill.sql knows the number too.
	fillBatch = 1000
	// fillEpoch is the time of task 0, in milliseconds; fill.sql knows it too.
	fillEpoch = 1_700_000_000_000
	// busyShare of the tasks, the newest, are all claimed by one prover.
	busyShare = 10
)

// filledID is the id that fill.sql gives the task with a number.
func filledID(number int) task.ID {
	at := fillEpoch + 1000*number
	return task.ID(fmt.Sprintf("%08x-%04x-7000-8000-%012x", at>>16, at&0xffff, number))
}

// fill makes tasks 1 to count in a file that has the schema and no task. It is
// not durable until it is done.
func fill(ctx context.Context, file string, count int) (err error) {
	pool, err := sql.Open("sqlite", "file:"+file+"?_pragma=synchronous(OFF)&_pragma=foreign_keys(ON)&_pragma=cache_size(-64000)&_pragma=temp_store(MEMORY)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	pool.SetMaxOpenConns(1)
	sample, err := newTask(agentsOf(0))
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(sample.Body))
	for from := 1; from <= count; from += fillBatch {
		err := fillOnce(ctx, pool, from, min(from+fillBatch-1, count), count-count/busyShare, sample.Body, hex.EncodeToString(digest[:]))
		if err != nil {
			return fmt.Errorf("fill from task %d: %w", from, err)
		}
	}
	_, err = pool.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

func fillOnce(ctx context.Context, pool *sql.DB, from, to, busyAfter int, body, digest string) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	arguments := []any{from, to, busyAfter, body, digest}
	for statement := range strings.SplitSeq(fillStatements, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		given := arguments[:highestArgument(statement)]
		if _, err := tx.ExecContext(ctx, statement, given...); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// highestArgument is the number of the last placeholder of a statement.
func highestArgument(statement string) int {
	for number := 5; number > 0; number-- {
		if strings.Contains(statement, fmt.Sprintf("$%d", number)) {
			return number
		}
	}
	return 0
}
