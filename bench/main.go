// Command bench measures Countersign against what stands beside it: the same
// statements without its store, its store without MCP, a server of the same SDK
// without tools, a small file beside a large one. CONTRIBUTING.md says how it is
// started.
//
// It owns the figures of bench/RESULTS.md. It must not assert anything: a target
// that is missed is shown as missed, and the run succeeds once it has measured.
// Its one idea is that only ratios within one run mean anything on a machine that
// is shared, so both sides of every ratio take turns.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// experiment is one part of the results.
type experiment struct {
	name string
	run  func(ctx context.Context, l *lab) (section, error)
}

func experiments() []experiment {
	return []experiment{
		{"hammer", hammer},
		{"mcp", overStdio},
		{"postgres", onPostgres},
		{"start", startAndIdle},
		{"pages", pagesOf(amounts{100_000, 10_000}, amounts{fewOfAll, fewOfAll})},
		{"pages-10000", pagesOf(amounts{100_000, 10_000}, amounts{10_000, 1000})},
		{"reads", readBoth},
		{"probes", probes},
		{"patrol", onPatrol},
		{"micro", micro},
	}
}

// settings are the flags.
type settings struct {
	lab
	out  string
	only string
}

func parse(arguments []string, printTo io.Writer) (settings, error) {
	s := settings{lab: lab{log: printTo}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(printTo)
	flags.StringVar(&s.out, "out", "", "also write the results to this `file`")
	flags.StringVar(&s.only, "only", "", "run only these experiments, a comma between them")
	flags.StringVar(&s.directory, "dir", os.TempDir(), "measure on the disk of this `directory`")
	flags.IntVar(&s.rounds, "rounds", 5, "rounds of each experiment but the hammering")
	flags.IntVar(&s.hammering, "hammer-rounds", 3, "rounds of hammering")
	flags.IntVar(&s.processes, "processes", 64, "processes that hammer one file")
	flags.DurationVar(&s.hammerFor, "hammer", 10*time.Second, "length of a round of hammering")
	flags.DurationVar(&s.roundFor, "for", 3*time.Second, "length of a round of the other experiments with writes")
	flags.DurationVar(&s.patrolFor, "patrol", 15*time.Second, "length of a round of the patrol")
	flags.IntVar(&s.probes, "probes", 2000, "probes in each round of the prober")
	flags.IntVar(&s.asks, "asks", 60, "times that each page is asked for in each round")
	flags.IntVar(&s.events, "events", 8, "events that are waited for in each round of the pages")
	flags.IntVar(&s.tasks, "tasks", 1_000_000, "tasks in the large file, in thousands")
	return s, flags.Parse(arguments)
}

func run(ctx context.Context, arguments []string, in io.Reader, out, printTo io.Writer) error {
	if len(arguments) == 2 && arguments[0] == workerCommand {
		return work(ctx, arguments[1], in, out)
	}
	if len(arguments) == 1 && arguments[0] == proberCommand {
		return probeAsTold(ctx, in, out)
	}
	if len(arguments) == 2 && arguments[0] == patrollerCommand {
		return patrolAsTold(ctx, arguments[1], out)
	}
	asked, err := parse(arguments, printTo)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(asked.directory, "countersign-bench-")
	if err != nil {
		return err
	}
	asked.directory = scratch
	return errors.Join(asked.measure(ctx, out), os.RemoveAll(scratch))
}

// measure runs the experiments asked for and prints what they found, also when
// one of them failed: the others stand. The file has them as soon as each is there, so
// that a run that is broken off leaves what it found.
func (s *settings) measure(ctx context.Context, out io.Writer) error {
	if err := s.build(ctx); err != nil {
		return err
	}
	scene, err := look(s.directory)
	if err != nil {
		return err
	}
	var found []section
	var missing []string
	for _, e := range experiments() {
		missing = append(missing, e.name)
	}
	var failed error
	for _, e := range experiments() {
		if s.only != "" && !slices.Contains(strings.Split(s.only, ","), e.name) {
			continue
		}
		one, err := e.run(ctx, &s.lab)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", e.name, err))
			continue
		}
		found = append(found, one)
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == e.name })
		scene.loadAfter = load()
		if s.out != "" {
			failed = errors.Join(failed, os.WriteFile(s.out, []byte(report(scene, found, missing)), 0o600))
		}
	}
	_, err = io.WriteString(out, report(scene, found, missing))
	return errors.Join(failed, err)
}
