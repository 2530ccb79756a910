package web

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// sentencesOf are causes in words, each once.
func sentencesOf(causes []registry.Cause) []string {
	var sentences []string
	for _, cause := range causes {
		sentence := string(cause)
		if entry, known := cause.Entry(); known {
			sentence = entry.Sentence
		}
		if !slices.Contains(sentences, sentence) {
			sentences = append(sentences, sentence)
		}
	}
	return sentences
}

// isGrave reports whether a mark says more than that something asks for attention.
func isGrave(mark string) bool { return mark == registry.MarkBlocked }

// componentRow is a component in a list.
type componentRow struct {
	registry.Reading

	From   moment // since when it has its status
	Probed moment // when the probe of the newest result began
	Marks  []string
	Causes []string // in sentences
	Proof  proof
	Spark  spark
	Wanted string // what a run wants of it, on the overview; empty when none does
}

// Says is what the row says, for those who hear of changes. One that flaps is told
// once, and not each time that it changes.
func (r componentRow) Says() string {
	said := r.Name + " is " + string(r.Status)
	if r.Flapping {
		said = r.Name + " is flapping"
	}
	if r.Blocked() {
		said += ", " + registry.MarkBlocked + ": its tools changed"
	}
	return said
}

// Lamp is how its status looks: one that no preflight takes is not green.
func (r componentRow) Lamp() string { return lampFor(r.Reading) }

// Grave are the marks that stand beside its status.
func (r componentRow) Grave() []string { return marksThat(isGrave, r.Marks) }

// Minor are the marks that stand beside its reason.
func (r componentRow) Minor() []string {
	return marksThat(func(mark string) bool { return !isGrave(mark) }, r.Marks)
}

// lampFor is how the status of a component looks: one that no preflight takes is not
// green.
func lampFor(reading registry.Reading) string {
	if reading.Status == registry.Available && reading.Blocked() {
		return lampOf("allowed_on_fallback")
	}
	return lampOf(reading.Status)
}

func marksThat(are func(string) bool, marks []string) []string {
	var those []string
	for _, mark := range marks {
		if are(mark) {
			those = append(those, mark)
		}
	}
	return those
}

// row is a component in a list, with its latest results where they were read.
func (s *site) row(reading registry.Reading, recent []registry.RecentResult) componentRow {
	made := componentRow{
		Reading: reading, From: s.parsed(reading.Since), Probed: s.probed(reading),
		Marks: reading.Marks(), Causes: sentencesOf(reading.Causes), Spark: sparkOf(recent),
	}
	if len(recent) > 0 {
		made.Proof = proofOf(reading.Kind, recent[len(recent)-1])
	}
	return made
}

// probed is when the probe of the newest result began.
func (s *site) probed(reading registry.Reading) moment {
	if reading.AgeMs == nil {
		return moment{}
	}
	return s.at(s.Now().Add(-time.Duration(*reading.AgeMs) * time.Millisecond))
}

// rows are components in a list, with their latest results. Faults: Unavailable.
func (s *site) rows(ctx context.Context, readings []registry.Reading) ([]componentRow, error) {
	names := make([]string, len(readings))
	for i := range readings {
		names[i] = readings[i].Name
	}
	recent, err := s.Fleet.Recent(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("read the latest results: %w", err)
	}
	rows := make([]componentRow, len(readings))
	for i := range readings {
		rows[i] = s.row(readings[i], recent[readings[i].Name])
	}
	return rows, nil
}
