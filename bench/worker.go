package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/countersign-dev/countersign/internal/store"
)

// workerCommand as the first argument makes this program one worker: it is told
// the rest as one JSON order in the second.
const workerCommand = "worker"

// order is what a worker is to do.
type order struct {
	File   string
	Bare   bool
	Number int
	For    time.Duration
}

// work opens the database, tells on out that it is ready, waits for a line on in,
// makes transitions for the time ordered and prints its tally.
func work(ctx context.Context, text string, in io.Reader, out io.Writer) error {
	var do order
	if err := json.Unmarshal([]byte(text), &do); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	to, done, err := openSQLite(ctx, do.File, do.Bare)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return fmt.Errorf("wait for the start: %w", err)
	}
	seen, err := drive(ctx, to, agentsOf(do.Number), time.Now().Add(do.For))
	if err := errors.Join(err, done()); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(seen)
}

// openSQLite opens one side of a comparison on a SQLite file.
func openSQLite(ctx context.Context, file string, bare bool) (writer, func() error, error) {
	if bare {
		opened, err := openBareSQLite(ctx, file)
		if err != nil {
			return nil, nil, err
		}
		return opened, opened.close, nil
	}
	database, err := store.Open(ctx, file, store.Options{})
	if err != nil {
		return nil, nil, err
	}
	return stored{database}, database.Close, nil
}

// worker is a process that works, as its parent sees it.
type worker struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// hire starts a worker; stop ends one that still runs.
func hire(ctx context.Context, do order) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(do)
	if err != nil {
		return nil, err
	}
	process := exec.CommandContext(ctx, self, workerCommand, string(text))
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	return &worker{process: process, in: in, out: bufio.NewReader(out)}, nil
}

func (w *worker) ready() error {
	if _, err := w.out.ReadString('\n'); err != nil {
		return fmt.Errorf("wait until a worker is ready: %w", err)
	}
	return nil
}

func (w *worker) start() error {
	_, err := fmt.Fprintln(w.in, "go")
	return err
}

func (w *worker) result() (tally, error) {
	var seen tally
	if err := json.NewDecoder(w.out).Decode(&seen); err != nil {
		return seen, fmt.Errorf("read the tally of a worker: %w", err)
	}
	return seen, w.process.Wait()
}

func (w *worker) stop() {
	_ = w.process.Process.Kill()
	_ = w.process.Wait()
}
