package config

import (
	"math"
	"math/big"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/countersign-dev/countersign/internal/registry"
)

// FuzzParse wants every text to be read or refused, with a number of problems
// that is bounded, each of them on a line of the text.
func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add(strings.ReplaceAll(secretPlaces, "§", "Tr0ub4dor"))
	files, err := filepath.Glob(filepath.Join("testdata", "problems", "*.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		loaded, invalid := parse("file.yaml", "/srv", text)
		if (loaded == nil) == (invalid == nil) {
			t.Fatalf("got %v and %v", loaded, invalid)
		}
		if invalid == nil {
			loaded.Warnings(Resolver{Lookup: func(string) (string, bool) { return "x", true }})
			wantWhole(t, loaded)
			return
		}
		if len(invalid.Problems) == 0 || len(invalid.Problems) > MaxProblems || invalid.Total < len(invalid.Problems) {
			t.Fatalf("%d of %d problems", len(invalid.Problems), invalid.Total)
		}
		for _, problem := range invalid.Problems {
			lines := strings.Count(problem.String(), "\n") + 1
			if problem.Message == "" || problem.Line > strings.Count(text, "\n")+1 || lines > 4 {
				t.Errorf("a problem that cannot be shown: %q", problem.String())
			}
		}
	})
}

// wantWhole wants a valid configuration to name only what is there, and every
// bound to hold.
func wantWhole(t *testing.T, loaded *Config) {
	t.Helper()
	registered := loaded.Registered()
	for i := range registered.Components {
		if p := registered.Components[i].Policy(); p.TTL < p.Interval || p.Rise > maxInARow || p.Fall > maxInARow {
			t.Errorf("a policy out of bounds: %+v", p)
		}
	}
	for _, slot := range registered.Slots {
		for _, name := range slot.Components() {
			if registered.Component(name) == nil || registered.Component(name).Kind() != registered.Component(slot.Primary).Kind() {
				t.Errorf("the slot %s names %q", slot.Name, name)
			}
		}
	}
	for _, run := range registered.Runs {
		for _, slot := range run.Slots {
			if registered.Slot(slot.Slot) == nil {
				t.Errorf("the run %s names %q", run.Name, slot.Slot)
			}
		}
		if len(run.Slots) == 0 || len(run.Slots) > MaxRunSlots {
			t.Errorf("the run %s has %d slots", run.Name, len(run.Slots))
		}
	}
	kept, patrol := loaded.Retention, loaded.Patrol
	if kept.Raw < minRaw || kept.Hourly < minHourly || kept.MaxBytes < minHistory || patrol.Concurrency < 1 || patrol.PerHost < 1 {
		t.Errorf("bounds that do not hold: %+v, %+v", kept, patrol)
	}
}

// FuzzBytesOf wants a size to be what its number and unit say, and never to wrap
// around.
func FuzzBytesOf(f *testing.F) {
	f.Add(uint64(1), "GiB")
	f.Add(uint64(math.MaxUint64), "TB")
	f.Fuzz(func(t *testing.T, number uint64, unit string) {
		unit = strings.TrimLeft(unit, "0123456789")
		got, ok := bytesOf(strconv.FormatUint(number, 10) + unit)
		times := map[string]int64{"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
		known, isUnit := times[strings.TrimSuffix(strings.TrimPrefix(unit, " "), "B")]
		if !ok {
			return
		}
		want := new(big.Int).Mul(new(big.Int).SetUint64(number), big.NewInt(known))
		if !isUnit || want.IsInt64() && got != want.Int64() || !want.IsInt64() && got != math.MaxInt64 {
			t.Errorf("%d%s is %d", number, unit, got)
		}
	})
}

// FuzzClientServers wants every text to be read or refused.
func FuzzClientServers(f *testing.F) {
	f.Add(clientFile)
	f.Add(`{"servers": {"a": {"command": "x", "args": ["${input:key}"]}}, "inputs": []}`)
	f.Add(`{"mcp": {"servers": {"a": {"url": "http://127.0.0.1/?k=${K:-v}"}}},}`)
	f.Fuzz(func(t *testing.T, text string) {
		fill := expander{workspace: "/srv", lookup: func(name string) (string, bool) { return "v", name != "UNSET" }}
		servers, err := clientServers("mcp.json", text, fill)
		if err == nil && len(servers) > MaxClientServers {
			t.Fatalf("%d servers", len(servers))
		}
		for _, each := range servers {
			server, ok := each.Component.Spec.(*registry.MCPServer)
			if each.Problem == nil && (!ok || (server.URL == "") == (len(server.Command) == 0)) {
				t.Errorf("a server without one way to reach it: %+v", each.Component)
			}
		}
	})
}
