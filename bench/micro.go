package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// micro runs the benchmarks of the store, whose counts of allocations are steady
// on a machine that is not.
func micro(ctx context.Context, l *lab) (section, error) {
	l.progress("micro: go test -bench")
	arguments := []string{"test", "-run", "^$", "-bench", ".", "-benchmem", "-benchtime", "1000x", "./internal/store"}
	printed, err := exec.CommandContext(ctx, "go", arguments...).CombinedOutput()
	if err != nil {
		return section{}, fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, printed)
	}
	var lines []string
	for line := range strings.Lines(string(printed)) {
		if strings.HasPrefix(line, "Benchmark") {
			lines = append(lines, strings.TrimRight(line, " \n"))
		}
	}
	return section{
		title:   "Calls of the store",
		method:  "`go test -bench . -benchmem -benchtime 1000x ./internal/store`: one call at a time, in one process, on SQLite where a name says no other database. What is done in batches is told for each thing in them. The allocations are steady; the times are those of this disk.",
		listing: strings.Join(lines, "\n"),
	}, nil
}
