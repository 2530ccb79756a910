package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	startsEachRound = 8
	megabyte        = 1e6
	// A server is idle when its memory has been the same for settledSamples
	// samples in a row, sampleEvery apart; it is given maxSamples for that.
	sampleEvery    = 100 * time.Millisecond
	settledSamples = 10
	maxSamples     = 200
)

// startCause is what programs showed that import one library after the other and
// do nothing else, and time stamps inside the process.
const startCause = "most of what it takes beyond the empty server passes before `main` begins, in the initialisation of libraries and in the pages of a binary four times as large. " +
	"An empty server that imports SQLite and PostgreSQL starts at 1.2x; one that imports the libraries of the metrics, of the traces, of AWS and of image registries as well, at 2.0x: " +
	"a program initialises all that it links, whatever it is started for. The rest are the command line, the schemas of five tools, and their list."

// idleCause is what the map of the process's memory showed.
const idleCause = "five sixths of it are pages of the binary, of which the kernel maps most as soon as some are touched, so that it follows the size of the binary; 5 MB are its own."

// sizeCause is what a build without each of them showed, by its symbols and its size.
const sizeCause = "the registries of images, the credentials of AWS and the metrics, which libraries bring, came after that target was set; the exporter of traces alone brings gRPC, 2.3 MB. " +
	"Templates and the command line call methods by their names, for which the linker keeps all exported methods of all types, 4.2 MB."

// The series of a start beside those of its two sides.
const (
	startCalled = "called"          // to the answer of a first call
	startCPU    = "processor time " // and the side
)

// startAndIdle measures the start, the idle memory and the size of the binary.
func startAndIdle(ctx context.Context, l *lab) (section, error) {
	directory, err := l.fresh()
	if err != nil {
		return section{}, err
	}
	file := filepath.Join(directory, "tasks.db")
	if err := migrate(ctx, file); err != nil {
		return section{}, err
	}
	started := map[string]series{}
	for round := range l.rounds {
		l.progress("start: round %d of %d", round+1, l.rounds)
		if err := l.startRound(ctx, round, file, started); err != nil {
			return section{}, err
		}
	}
	l.progress("start: idle memory")
	idle, err := idleMemory(ctx, l.binary, "mcp", "--db", file)
	if err != nil {
		return section{}, err
	}
	emptyIdle, err := idleMemory(ctx, l.empty)
	if err != nil {
		return section{}, err
	}
	size, emptySize, err := l.sizes()
	if err != nil {
		return section{}, err
	}
	return section{
		title: "Start, idle memory, size",
		method: fmt.Sprintf("From the start of the process to the answer of `tools/list`, after `initialize` and `notifications/initialized`: "+
			"`countersign mcp` on an existing database beside a server of the same SDK without tools, both stripped; each of %d rounds is the median of %d starts each, in turn. "+
			"The database is opened after the handshake, for a call or in the background; the call shows both together. The empty server is not called. "+
			"Memory is VmRSS once it has stayed the same for a second after that answer.", l.rounds, startsEachRound),
		ours: "`countersign mcp`", beside: "empty SDK server",
		figures: []figure{
			{
				name: "spawn to first `tools/list`", unit: " ms", ours: started[sideOurs], beside: started[sideBare],
				value: started[sideOurs].over(started[sideBare]), target: &target{atMost, 2, "x"}, cause: startCause,
			},
			{
				name: "spawn to the answer of a `list_tasks` right behind it", unit: " ms", ours: started[startCalled], beside: started[sideBare],
				value: started[startCalled].over(started[sideBare]),
			},
			{
				name: "processor time of a start, that call and the end", unit: " ms", ours: started[startCPU+sideOurs], beside: started[startCPU+sideBare],
				value: started[startCPU+sideOurs].over(started[startCPU+sideBare]),
			},
			{
				name: "idle resident memory", unit: " MB", ours: series{idle}, beside: series{emptyIdle}, value: series{idle},
				target: &target{atMost, 30, " MB"}, cause: idleCause,
			},
			{name: "stripped binary", unit: " MB", ours: series{size}, beside: series{emptySize}, value: series{size}, target: &target{atMost, 25, " MB"}, cause: sizeCause},
		},
	}, nil
}

// startRound adds the median start of each side.
func (l *lab) startRound(ctx context.Context, round int, file string, into map[string]series) error {
	took := map[string]series{}
	for range startsEachRound {
		for _, side := range l.order(round) {
			if err := l.startOnce(ctx, side, file, took); err != nil {
				return err
			}
		}
	}
	for what, times := range took {
		into[what] = append(into[what], times.median())
	}
	return nil
}

// startOnce starts a side, calls a tool of ours, and ends it.
func (l *lab) startOnce(ctx context.Context, side, file string, took map[string]series) error {
	command, arguments := l.binary, []string{"mcp", "--db", file}
	if side == sideBare {
		command, arguments = l.empty, nil
	}
	began := time.Now()
	add := func(what string, duration time.Duration) {
		took[what] = append(took[what], float64(duration.Microseconds())/1000)
	}
	server, err := dial(ctx, command, arguments...)
	if err != nil {
		return err
	}
	add(side, time.Since(began))
	if side == sideOurs {
		if _, err := server.tool("list_tasks", map[string]any{}); err != nil {
			return errors.Join(err, server.close())
		}
		add(startCalled, time.Since(began))
	}
	if err := server.close(); err != nil {
		return err
	}
	add(startCPU+side, server.process.ProcessState.UserTime()+server.process.ProcessState.SystemTime())
	return nil
}

// idleMemory starts a server and returns its resident megabytes at rest.
func idleMemory(ctx context.Context, command string, arguments ...string) (megabytes float64, err error) {
	server, err := dial(ctx, command, arguments...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.close()) }()
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	last, same := 0.0, 0
	for range maxSamples {
		now, err := resident(server.process.Process.Pid)
		if err != nil {
			return 0, err
		}
		if now != last {
			last, same = now, 0
		} else if same++; same == settledSamples {
			return last, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-ticker.C:
		}
	}
	return 0, fmt.Errorf("the memory of %s did not settle; the last sample was %.1f MB", filepath.Base(command), last)
}

// resident reads VmRSS of a process, in megabytes.
func resident(pid int) (float64, error) { return memoryOf(pid, "VmRSS") }

// residentPeak reads VmHWM of a process, the most that VmRSS ever was.
func residentPeak(pid int) (float64, error) { return memoryOf(pid, "VmHWM") }

// memoryOf reads a line of the status of a process, in megabytes.
func memoryOf(pid int, name string) (float64, error) {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, fmt.Errorf("read the memory of a process, which needs Linux: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if kibibytes, found := strings.CutPrefix(line, name+":"); found {
			value, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(kibibytes), " kB"), 64)
			return value * 1024 / megabyte, err
		}
	}
	return 0, errors.New("the status of the process has no " + name)
}

func (l *lab) sizes() (ours, empty float64, err error) {
	for binary, into := range map[string]*float64{l.binary: &ours, l.empty: &empty} {
		found, err := os.Stat(binary)
		if err != nil {
			return 0, 0, err
		}
		*into = float64(found.Size()) / megabyte
	}
	return ours, empty, nil
}
