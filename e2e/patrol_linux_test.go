package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

const (
	goldenFleet = "testdata/registry.golden.md"
	// fleetRounds is how many results each component must have at least, and
	// fleetSoak how many times COUNTERSIGN_SOAK.
	fleetRounds, fleetSoak = 5, 6
	// fleetResident bounds the memory of the server that patrols, in KiB.
	fleetResident = 192 << 10
	// roundTimeout bounds the wait for one more result of each component.
	roundTimeout = 5 * time.Minute
)

// TestServe_patrolsRealServersAsTheTableSays has a server patrol twenty components
// for some rounds: the status of each is the one of the golden table, before and
// after one of them is killed and started again. Nothing is left of the probes.
func TestServe_patrolsRealServersAsTheTableSays(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	p := &patrolled{fleet: f, folder: t.TempDir(), database: sqlite(t), env: environment(t), results: map[string]map[string]bool{}}
	configure(t, p.folder, f.yaml(t))
	p.serve = start(t, p.folder, p.env, binary(), "serve", "--db", p.database, "--listen", "127.0.0.1:0")
	p.serve.await(t, "this process patrols now")

	p.awaitResults(t, fleetRounds)
	p.awaitReading(t, "fails-every-other-time", "flaps", func(r registry.Reading) bool { return r.Flapping })
	p.compare(t)

	f.echo.kill()
	killed := time.Now()
	gone := p.awaitReading(t, "echo", "is unavailable", func(r registry.Reading) bool { return r.Status == registry.Unavailable })
	if !slices.Equal(gone.Causes, []registry.Cause{registry.Refused}) {
		t.Errorf("a killed server is unavailable because of %v, want %s", gone.Causes, registry.Refused)
	}
	back := time.Now()
	f.startEcho(t)
	p.awaitReading(t, "echo", "is available", func(r registry.Reading) bool { return r.Status == registry.Available })

	if factor := torture(t); factor > 1 {
		p.soak(t, fleetRounds+fleetSoak*factor)
	}
	p.compare(t)
	if code := p.serve.stop(t, syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
	nothingLeft(t, p.env)
	eventually(t, "sessions are left on a server", func() bool { return f.sessions.sessions() == 0 })
	eventually(t, "connections are left open", func() bool { return f.sessions.connected.Load() == 0 })
	p.readHistory(t, killed, back)
}

// patrolled is a fleet and the server that patrols it.
type patrolled struct {
	*fleet

	serve    *process
	folder   string
	database string
	env      []string
	results  map[string]map[string]bool // the ids seen of each component
}

// list is what component list says, and notes the results.
func (p *patrolled) list(t *testing.T) []registry.Reading {
	t.Helper()
	listed := run(t, p.folder, p.env, binary(), "component", "list", "--json", "--db", p.database)
	var page registry.ComponentPage
	if err := json.Unmarshal([]byte(listed.stdout), &page); err != nil || listed.code != 0 || len(page.Components) != len(p.names) {
		t.Fatalf("component list gave %d components and exit code %d (%v)\n%s%s", len(page.Components), listed.code, err, listed.stdout, listed.stderr)
	}
	for _, reading := range page.Components {
		if reading.ResultID == nil {
			continue
		}
		if p.results[reading.Name] == nil {
			p.results[reading.Name] = map[string]bool{}
		}
		p.results[reading.Name][*reading.ResultID] = true
	}
	return page.Components
}

// awaitList lists the components until they are as wanted.
func (p *patrolled) awaitList(t *testing.T, complaint string, wanted func([]registry.Reading) bool) {
	t.Helper()
	for end := time.Now().Add(roundTimeout); ; <-time.After(500 * time.Millisecond) {
		readings := p.list(t)
		if wanted(readings) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s in %v: %+v", complaint, roundTimeout, readings)
		}
	}
}

// awaitResults waits until each component was seen with so many results.
func (p *patrolled) awaitResults(t *testing.T, count int) {
	t.Helper()
	p.awaitList(t, fmt.Sprintf("not each component had %d results", count), func([]registry.Reading) bool {
		return !slices.ContainsFunc(p.names, func(name string) bool { return len(p.results[name]) < count })
	})
}

// awaitReading waits until one component is as wanted.
func (p *patrolled) awaitReading(t *testing.T, name, as string, wanted func(registry.Reading) bool) registry.Reading {
	t.Helper()
	var found registry.Reading
	p.awaitList(t, name+" is not as it should be: it "+as, func(readings []registry.Reading) bool {
		at := slices.IndexFunc(readings, func(r registry.Reading) bool { return r.Name == name })
		if at < 0 || !wanted(readings[at]) {
			return false
		}
		found = readings[at]
		return true
	})
	return found
}

// compare holds all statuses against the golden table. What a component that
// flaps says besides depends on the moment.
func (p *patrolled) compare(t *testing.T) {
	t.Helper()
	text := "Statuses of a registry of real servers, some broken on purpose, written by the tests of e2e.\n\n" +
		"| component | status | degraded | flapping | causes |\n|---|---|---|---|---|\n"
	for _, reading := range p.list(t) {
		degraded, causes := strconv.FormatBool(reading.Degraded), fmt.Sprint(reading.Causes)
		if reading.Flapping {
			degraded, causes = "at times", "at times"
		}
		text += fmt.Sprintf("| %s | %s | %s | %t | %s |\n", reading.Name, reading.Status, degraded, reading.Flapping, strings.Trim(causes, "[]"))
	}
	golden(t, goldenFleet, text)
}

// soak goes on until each component has so many results. The memory of the
// server is bounded, and does not grow.
func (p *patrolled) soak(t *testing.T, count int) {
	t.Helper()
	var resident []int
	for round := fleetRounds + 1; round <= count; round++ {
		p.awaitResults(t, round)
		resident = append(resident, p.resident(t))
	}
	half := len(resident) / 2
	early, late := slices.Max(resident[:half]), slices.Max(resident[half:])
	t.Logf("%d rounds; resident at most %d KiB in the first half and %d KiB in the second", count, early, late)
	if late > early+early/4 {
		t.Errorf("the memory of the server grew from %d KiB to %d KiB in %d rounds: %v", early, late, count, resident)
	}
}

var residentNow = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

// resident is the resident memory of the server in KiB, which must be bounded.
func (p *patrolled) resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.serve.command.Process.Pid), "status"))
	found := residentNow.FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("the memory of the server cannot be read: %v", err)
	}
	kib, err := strconv.Atoi(string(found[1]))
	if err != nil || kib > fleetResident {
		t.Errorf("the server has %d KiB resident, want at most %d (%v)", kib, fleetResident, err)
	}
	return kib
}

// readHistory reads what is on record of each component when all is over: only
// what was killed, and what fails every other time, has results of both kinds.
func (p *patrolled) readHistory(t *testing.T, killed, back time.Time) {
	t.Helper()
	database, err := store.Open(t.Context(), p.database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	for _, name := range p.names {
		results, err := database.Results(t.Context(), name, "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		changes, err := database.Changes(t.Context(), name, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(results) < len(p.results[name]) {
			t.Errorf("%s: %d results are on record, and %d were seen", name, len(results), len(p.results[name]))
		}
		interval := 10 * time.Second
		switch name {
		case "fails-every-other-time":
			interval = time.Second
		case "echo":
			outage(t, results, killed, back)
		default:
			sameOutcome(t, name, results)
		}
		wantChanges := 1
		if name == "echo" {
			wantChanges = 3
		}
		if len(changes) != wantChanges {
			t.Errorf("%s: its status changed %d times, want %d: %+v", name, len(changes), wantChanges, changes)
		}
		spaced(t, name, results, interval)
	}
}

// outage looks at the results of the server that was killed: none that was begun
// while it was gone passed, and all before did.
func outage(t *testing.T, results []registry.Kept, killed, back time.Time) {
	t.Helper()
	failed := 0
	for _, kept := range results {
		at, outcome := kept.Seen.ProbedAt, kept.Seen.Outcome
		switch gone := at.After(killed) && at.Before(back); {
		case gone && outcome != registry.OutcomeFailed, at.Before(killed.Add(-kept.Latency)) && outcome != registry.OutcomePassed:
			t.Errorf("echo, killed at %v, started again after %v: %s at %v", killed, back, outcome, at)
		case outcome == registry.OutcomeFailed:
			failed++
		}
	}
	if failed == 0 {
		t.Error("echo was killed, and no result tells of it")
	}
}

func sameOutcome(t *testing.T, name string, results []registry.Kept) {
	t.Helper()
	for _, kept := range results {
		if kept.Seen.Outcome != results[0].Seen.Outcome || !slices.Equal(kept.Seen.Causes, results[0].Seen.Causes) {
			t.Errorf("%s: %s %v at %v, and %s %v at last", name, kept.Seen.Outcome, kept.Seen.Causes, kept.Seen.ProbedAt,
				results[0].Seen.Outcome, strings.TrimSpace(fmt.Sprint(results[0].Seen.Causes)))
		}
	}
}

// spaced looks at how far the probes of a component lie apart: half an interval
// at least, and right after a change of status a quarter, but never less than a
// second.
func spaced(t *testing.T, name string, results []registry.Kept, interval time.Duration) {
	t.Helper()
	const tolerance = 50 * time.Millisecond // between the clock of the schedule and that of the result
	least, quick := interval/2, 0
	for i := 1; i < len(results); i++ {
		apart := results[i-1].Seen.ProbedAt.Sub(results[i].Seen.ProbedAt)
		if apart < min(least, max(interval/4, time.Second))-tolerance {
			t.Errorf("%s was probed twice in %v", name, apart)
		}
		if apart < least-tolerance {
			quick++
		}
	}
	if most := 9; quick > most { // three after each of three changes
		t.Errorf("%s was probed %d times in less than half an interval, want at most %d", name, quick, most)
	}
}
