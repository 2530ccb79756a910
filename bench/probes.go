package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	probesWarm   = 200 // unmeasured, of each side
	probesAtOnce = 8
	probesFlying = 5000
	ticksASecond = 100 // the unit of times in /proc/PID/stat
	kilobyte     = 1e3
	flyingLimit  = time.Minute // until all probes are in flight
)

// What profiles of the prober showed.
const (
	processorCause = "a probe opens three connections, one for each gate, and the exporter one. Opening them takes about a third of the time, the two goroutines " +
		"that net/http keeps for each connection a quarter, reading the tools and making their digest a fifth."
	memoryCause = "net/http keeps two goroutines with their stacks and buffers for a connection, a probe has one for each gate under way and one more for itself, " +
		"and while thousands begin at once their garbage is added: the heap may double before it is collected."
)

// probes measures a full probe beside one plain HTTP probe of blackbox_exporter.
func probes(ctx context.Context, l *lab) (section, error) {
	server := newStub(registry.Modern, false)
	defer server.Close()
	found := section{
		title: "A probe of three gates",
		method: fmt.Sprintf("`internal/probe` in a process of its own: three gates over plain HTTP, in the modern era, which is remembered from the first probe. "+
			"Beside it blackbox_exporter, as Debian has it, asks for /healthz once. Both examine the same stub, %d at a time, %d times in each of %d rounds; "+
			"counted is the processor time of whoever examines, and not of who scrapes the exporter. "+
			"In flight are %d probes at once, held by a server that does not answer: at /test alone, or at every request; the memory is what the peak, VmHWM, "+
			"lies above VmRSS before, by probe. The stub counts requests and sessions.",
			probesAtOnce, l.probes, l.rounds, probesFlying),
		ours: "three gates", beside: "one GET of blackbox_exporter",
	}
	cpu, err := l.processorTimes(ctx, server)
	if err != nil {
		return section{}, err
	}
	flying, err := l.memoryInFlight(ctx, server)
	if err != nil {
		return section{}, err
	}
	counts, err := countRequests(ctx)
	if err != nil {
		return section{}, err
	}
	found.figures = append(append([]figure{cpu}, flying...), counts...)
	return found, nil
}

// processorTimes lets both sides examine the stub in turns.
func (l *lab) processorTimes(ctx context.Context, server *stub) (figure, error) {
	sides := map[string]*examiner{}
	for _, side := range l.order(0) {
		started, err := l.startExaminer(ctx, side)
		if err != nil {
			return figure{}, err
		}
		defer started.stop()
		if err := started.examine(ctx, server.URL, probesWarm, probesAtOnce); err != nil {
			return figure{}, err
		}
		sides[side] = started
	}
	took := map[string]series{}
	for turn := range l.rounds {
		l.progress("probes: round %d of %d", turn+1, l.rounds)
		for _, side := range l.order(turn) {
			each, err := sides[side].timed(ctx, server.URL, l.probes)
			if err != nil {
				return figure{}, err
			}
			took[side] = append(took[side], each)
		}
	}
	return figure{
		name: "processor time", unit: " µs", ours: took[sideOurs], beside: took[sideBare],
		value: took[sideOurs].over(took[sideBare]), target: &target{atMost, 0.5, "x"}, cause: processorCause,
	}, nil
}

// timed returns the microseconds of processor time for each of count examinations.
func (e *examiner) timed(ctx context.Context, address string, count int) (float64, error) {
	before, err := processorTime(e.pid())
	if err != nil {
		return 0, err
	}
	if err := e.examine(ctx, address, count, probesAtOnce); err != nil {
		return 0, err
	}
	after, err := processorTime(e.pid())
	return float64((after - before).Microseconds()) / float64(count), err
}

// processorTime reads how long a process has computed, in user and kernel mode.
func processorTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, fmt.Errorf("read the times of a process, which needs Linux: %w", err)
	}
	// What follows the name, which may hold anything: the state is the third field.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const user, system = 14 - 3, 15 - 3
	if len(fields) <= system {
		return 0, fmt.Errorf("the times of process %d cannot be read", pid)
	}
	var ticks int64
	for _, field := range []string{fields[user], fields[system]} {
		value, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += value
	}
	return time.Duration(ticks) * time.Second / ticksASecond, nil
}

// memoryInFlight measures what a probe takes while its server does not answer.
func (l *lab) memoryInFlight(ctx context.Context, server *stub) ([]figure, error) {
	grown := map[string]series{}
	for _, one := range []struct {
		name, side string
		all        bool
		requests   int64 // of each examination that wait
	}{{"test", sideOurs, false, 1}, {"all", sideOurs, true, 3}, {"exporter", sideBare, true, 1}} {
		l.progress("probes: %d in flight, %s", probesFlying, one.name)
		bytes, err := l.inFlight(ctx, server, one.side, one.all, one.requests*probesFlying)
		if err != nil {
			return nil, err
		}
		grown[one.name] = series{bytes / kilobyte / probesFlying}
	}
	return []figure{
		{
			name: "memory in flight, held at /test", unit: " KB", ours: grown["test"], beside: grown["exporter"],
			value: grown["test"], target: &target{atMost, 25, " KB"}, cause: memoryCause,
		},
		{name: "memory in flight, held at every request", unit: " KB", ours: grown["all"], beside: grown["exporter"], value: grown["all"].over(grown["exporter"])},
	}, nil
}

// inFlight returns by how many bytes the memory of a new examiner grows.
func (l *lab) inFlight(ctx context.Context, server *stub, side string, all bool, requests int64) (grown float64, err error) {
	ours, err := l.startExaminer(ctx, side)
	if err != nil {
		return 0, err
	}
	defer ours.stop()
	if err := ours.examine(ctx, server.URL, probesWarm, probesAtOnce); err != nil {
		return 0, err
	}
	before, err := resident(ours.pid())
	if err != nil {
		return 0, err
	}
	release := server.hold(all)
	defer release()
	ended := make(chan error, 1)
	go func() { ended <- ours.examine(ctx, server.URL, probesFlying, probesFlying) }()
	ticks := time.NewTicker(sampleEvery)
	defer ticks.Stop()
	for end := time.Now().Add(flyingLimit); server.waiting.Load() < requests; {
		select {
		case err := <-ended:
			return 0, fmt.Errorf("the examinations ended before all were in flight: %w", err)
		case <-ticks.C:
		}
		if time.Now().After(end) {
			release()
			return 0, fmt.Errorf("only %d of %d requests wait after %v: %w", server.waiting.Load(), requests, flyingLimit, <-ended)
		}
	}
	peak, err := residentPeak(ours.pid())
	release()
	if failed := <-ended; failed != nil {
		return 0, failed
	}
	return (peak - before) * megabyte, err
}
