package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// lab is what every experiment gets: the sizes asked for, a directory on the disk
// that is measured, and the binaries under test.
type lab struct {
	directory string
	binary    string // countersign, stripped
	empty     string // the SDK's server without tools, stripped
	log       io.Writer

	processes int
	rounds    int // of every experiment but the hammering
	hammering int // rounds of hammering
	hammerFor time.Duration
	roundFor  time.Duration
	patrolFor time.Duration
	tasks     int
	probes    int // in each round of the prober
	asks      int // of each page, in each round
	events    int // that are waited for, in each round
}

const module = "github.com/countersign-dev/countersign"

// The sides of a comparison.
const (
	sideOurs = "ours"
	sideBare = "bare"
)

// order alternates which side of a round comes first.
func (l *lab) order(round int) []string {
	sides := []string{sideOurs, sideBare}
	if round%2 == 1 {
		slices.Reverse(sides)
	}
	return sides
}

func (l *lab) progress(format string, arguments ...any) {
	_, _ = fmt.Fprintf(l.log, "%s  %s\n", time.Now().UTC().Format(time.TimeOnly), fmt.Sprintf(format, arguments...))
}

// fresh makes a directory of its own for one round.
func (l *lab) fresh() (string, error) { return os.MkdirTemp(l.directory, "round-") }

// build compiles the binaries under test as a release does.
func (l *lab) build(ctx context.Context) error {
	l.binary = filepath.Join(l.directory, "countersign")
	l.empty = filepath.Join(l.directory, "emptyserver")
	for out, source := range map[string]string{l.binary: module + "/cmd/countersign", l.empty: module + "/bench/emptyserver"} {
		l.progress("build %s", source)
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, source)
		build.Env = append(build.Environ(), "CGO_ENABLED=0")
		if printed, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", source, err, printed)
		}
	}
	return nil
}
