package store_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
	"github.com/countersign-dev/countersign/internal/store/storetest"
)

// fleet is how many components the benchmarks of the registry have.
const fleet = 10_000

// passOf is an unremarkable pass of a component of the fleet.
func passOf(b testing.TB, number int, at time.Time) registry.Record {
	b.Helper()
	result := registry.ProbeResult{
		Target: fmt.Sprintf("http://10.0.0.1:%d", 10000+number), Profile: registry.ThreeGates, ProbedAt: at,
		Healthz: registry.Pass(time.Millisecond, "ok"), Test: registry.Pass(2*time.Millisecond, "all tools can be executed"),
		Era: registry.Modern, Transport: registry.StreamableHTTP, ProtocolVersion: "2025-11-25",
		Server: registry.Server{Name: "asm", Version: "1.4.2"}, ToolsDigest: fmt.Sprintf("sha256:%064x", number),
	}
	result.ListTools = registry.ToolsResult{GateResult: registry.Pass(3*time.Millisecond, ""), ToolCount: 20}
	for i := range 20 {
		result.Tools = append(result.Tools, fmt.Sprintf("tool_number_%02d", i))
	}
	document, err := json.Marshal(result)
	if err != nil {
		b.Fatal(err)
	}
	policy := registry.Policy{Rise: 1, Fall: 1, Interval: time.Minute, TTL: 3 * time.Minute, ProbingDeadline: 3 * time.Minute}
	return registry.Record{
		ID:           uuidAt(at),
		Registration: registry.Registration{Name: fmt.Sprintf("component-%05d", number), Kind: registry.KindMCPServer, Definition: "sha256:a"},
		Policy:       policy, Summary: result.Summary(), Document: document,
	}
}

func uuidAt(at time.Time) string {
	id := uuid.Must(uuid.NewV7())
	for i, ms := 5, at.UnixMilli(); i >= 0; i, ms = i-1, ms>>8 {
		id[i] = byte(ms)
	}
	return id.String()
}

// BenchmarkRecord stores one result of each component of a fleet a minute, in
// batches; the times are those of one result.
func BenchmarkRecord(b *testing.B) {
	for name, fresh := range databases {
		for _, size := range []int{1, 80, 256} {
			b.Run(fmt.Sprintf("%s/batch=%d", name, size), func(b *testing.B) { recordFleet(b, fresh, size) })
		}
	}
}

func recordFleet(b *testing.B, fresh storetest.Fresh, size int) {
	b.Helper()
	f := openFleet(b, fresh)
	var used time.Duration
	for done := 0; done < b.N; done += size {
		b.StopTimer()
		records := f.batch(b, size)
		before := cpuTime()
		b.StartTimer()
		f.record(b, records)
		used += cpuTime() - before
	}
	b.ReportMetric(float64(used.Microseconds())/float64(b.N), "cpu-µs/op")
}

// BenchmarkTrim removes results in the steps of the patrol; the times are those
// of one result.
func BenchmarkTrim(b *testing.B) {
	const step = 500
	for name, fresh := range databases {
		b.Run(name, func(b *testing.B) {
			f := openFleet(b, fresh)
			for done := 0; done < b.N; done += step {
				f.record(b, f.batch(b, step))
			}
			before := cpuTime()
			b.ResetTimer()
			for done := 0; done < b.N; done += step {
				if _, err := f.database.Trim(b.Context(), f.at.Add(fleetHours*time.Hour), registry.Retention{MaxBytes: 1}, step); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// BenchmarkKnown reads what is known of the whole fleet.
func BenchmarkKnown(b *testing.B) {
	for name, fresh := range databases {
		b.Run(name, func(b *testing.B) {
			f := openFleet(b, fresh)
			names := make([]string, fleet)
			for i := range names {
				names[i] = fmt.Sprintf("component-%05d", i)
			}
			b.ResetTimer()
			for b.Loop() {
				if known, err := f.database.Known(b.Context(), names); err != nil || len(known) != fleet {
					b.Fatalf("%d known, %v", len(known), err)
				}
			}
		})
	}
}

// fleetHours is longer than any benchmark's results reach.
const fleetHours = 10_000

// probed is a fleet of components, of which each has one result to begin with.
type probed struct {
	database *store.Database
	order    []int
	at       time.Time
	next     int
}

func openFleet(b *testing.B, fresh storetest.Fresh) *probed {
	b.Helper()
	database, err := store.Open(b.Context(), fresh(b), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { database.Close() })
	f := &probed{
		database: database, order: rand.New(rand.NewPCG(1, 1)).Perm(fleet), at: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC),
	}
	for f.next < fleet {
		f.record(b, f.batch(b, 500))
	}
	b.ReportAllocs()
	b.ResetTimer()
	return f
}

// batch makes results of components in the order of the fleet, 10,000 a minute.
func (f *probed) batch(b *testing.B, size int) []registry.Record {
	b.Helper()
	records := make([]registry.Record, size)
	for i := range records {
		records[i] = passOf(b, f.order[f.next%fleet], f.at.Add(time.Duration(f.next)*6*time.Millisecond))
		f.next++
	}
	return records
}

func (f *probed) record(b *testing.B, records []registry.Record) {
	b.Helper()
	if err := f.database.Record(b.Context(), nil, records); err != nil {
		b.Fatal(err)
	}
}
