package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

const (
	// fleetTools is how many tools a component of a fleet lists.
	fleetTools = 20
	// fleetBatch is how many results are stored at once before anything is measured.
	fleetBatch = 500
)

// fleet is many components whose probes cost nothing: each passes at once, with
// the result of a real size.
type fleet struct {
	registered *registry.Registered
	present    map[string]registry.Record // by name; without id and time
}

func newFleet(count int, interval time.Duration) (*fleet, error) {
	made := &fleet{registered: &registry.Registered{}, present: make(map[string]registry.Record, count)}
	result := fleetResult()
	document, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	for i := range count {
		component := registry.Component{
			Name: fmt.Sprintf("component-%05d", i), Interval: interval,
			Spec: &registry.MCPServer{URL: fmt.Sprintf("http://host-%05d.example", i), Profile: registry.ThreeGates},
		}
		definition, err := component.Definition()
		if err != nil {
			return nil, err
		}
		made.registered.Components = append(made.registered.Components, component)
		made.present[component.Name] = registry.Record{
			Registration: registry.Registration{Name: component.Name, Kind: component.Kind(), Definition: definition},
			Policy:       component.Policy(), Summary: result.Summary(), Document: document,
		}
	}
	return made, nil
}

func fleetResult() registry.ProbeResult {
	result := registry.ProbeResult{
		Target: "http://host.example", Profile: registry.ThreeGates,
		Healthz: registry.Pass(time.Millisecond, "ok"), Test: registry.Pass(2*time.Millisecond, "all tools can be executed"),
		Era: registry.Modern, Transport: registry.StreamableHTTP, ProtocolVersion: "2026-07-28",
		Server: registry.Server{Name: "stub", Version: "1"}, ToolsDigest: fmt.Sprintf("sha256:%064x", fleetTools),
	}
	result.ListTools = registry.ToolsResult{GateResult: registry.Pass(3*time.Millisecond, ""), ToolCount: fleetTools}
	for i := range fleetTools {
		result.Tools = append(result.Tools, fmt.Sprintf("tool_%02d", i))
	}
	return result
}

// Registered implements patrol.Examiner.
func (f *fleet) Registered() *registry.Registered { return f.registered }

// Examine implements patrol.Examiner.
func (f *fleet) Examine(_ context.Context, name string) (registry.Record, error) {
	return f.record(name, time.Now())
}

// record is a result of a component at a time.
func (f *fleet) record(name string, at time.Time) (registry.Record, error) {
	made, ok := f.present[name]
	if !ok {
		return made, fmt.Errorf("the fleet has no component %q", name)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return made, err
	}
	for i := range 6 {
		id[i] = byte(at.UnixMilli() >> (40 - 8*i) & 0xff)
	}
	made.ID, made.Summary.ProbedAt = id.String(), at.UTC().Truncate(time.Millisecond)
	return made, nil
}

// launch registers the fleet and gives each component a result of half an
// interval ago, so that all are due on their phases within the next interval.
func (f *fleet) launch(ctx context.Context, into *store.Database, interval time.Duration) error {
	now := time.Now()
	var registrations []registry.Registration
	var records []registry.Record
	for _, component := range f.registered.Components {
		record, err := f.record(component.Name, now.Add(-interval/2))
		if err != nil {
			return err
		}
		registrations, records = append(registrations, record.Registration), append(records, record)
	}
	if err := into.Register(ctx, now.Add(-interval), registrations); err != nil {
		return err
	}
	for from := 0; from < len(records); from += fleetBatch {
		if err := into.Record(ctx, nil, records[from:min(from+fleetBatch, len(records))]); err != nil {
			return err
		}
	}
	return nil
}

// names returns the names of all components.
func (f *fleet) names() []string {
	var names []string
	for _, component := range f.registered.Components {
		names = append(names, component.Name)
	}
	return names
}
