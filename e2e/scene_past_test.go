//go:build unix

package e2e

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/store"
)

const (
	scenePast = 24 * time.Hour   // for how long the components were probed before
	sceneBeat = 20 * time.Minute // how often
)

// past fills the database before the server starts: with tasks of days, and with
// what a patrol saw for a day. Results of the past are real ones, dated back.
func (s *scene) past(t *testing.T) {
	t.Helper()
	database, err := store.Open(t.Context(), s.database, store.Options{})
	must(t, err)
	defer func() { must(t, database.Close()) }()
	now := time.Now()
	s.tasks = liveThrough(t, database, now, sceneTasks())

	loaded, err := config.Load(s.pastFile(t))
	must(t, err)
	at := now.Add(-scenePast - sceneBeat)
	examined := examiner.New(examiner.Options{
		Store: database, Now: func() time.Time { return at }, Version: "0", Resolve: config.Resolver{Lookup: s.variable}.Resolve,
		Key: func() (ed25519.PrivateKey, error) {
			return config.SigningKey(func(name string) string { value, _ := s.variable(name); return value })
		},
	})
	must(t, examined.Use(t.Context(), loaded.Registered()))
	var records []registry.Record
	for _, component := range loaded.Registered().Components {
		records = append(records, s.watched(t, examined, component.Name, now)...)
	}
	slices.SortFunc(records, func(a, b registry.Record) int { return a.Summary.ProbedAt.Compare(b.Summary.ProbedAt) })
	for _, before := range []time.Duration{11 * time.Hour, 15 * time.Minute} { // results count in the order of time
		at = now.Add(-before)
		until := slices.IndexFunc(append(records, registry.Record{Summary: registry.Summary{ProbedAt: now}}), func(r registry.Record) bool { return r.Summary.ProbedAt.After(at) })
		must(t, database.Record(t.Context(), nil, records[:until]))
		records = records[until:]
		for _, run := range []string{"nightly", "eu-nightly", "release"} {
			_, err := examined.Preflight(t.Context(), run)
			must(t, err)
		}
	}
}

// pastFile writes the configuration of the past: with a component that is no longer
// registered, and another address of one that was defined anew.
func (s *scene) pastFile(t *testing.T) string {
	t.Helper()
	retired := fmt.Sprintf("components:\n  retired: {kind: mcp_server, url: %q}\n", s.listen(t, "tickets"))
	moved := strings.NewReplacer("components:\n", retired, "http://127.0.0.1:9\"", "http://127.0.0.1:9/before\"")
	file := filepath.Join(s.folder, "past.yaml")
	writeFile(t, file, moved.Replace(readFile(t, filepath.Join(s.folder, "countersign.yaml"))))
	return file
}

// variable is one of the environment of the scene.
func (s *scene) variable(name string) (string, bool) {
	for _, each := range s.env {
		if value, ok := strings.CutPrefix(each, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// watched are the results of a component over a day, without the last minutes.
func (s *scene) watched(t *testing.T, examined *examiner.Examiner, name string, now time.Time) []registry.Record {
	t.Helper()
	server, later := s.servers[name], sceneMood(0)
	if server != nil {
		later = sceneMood(server.mood.Load())
	}
	if later == moodSilent {
		return nil
	}
	seen := map[sceneMood]registry.Record{}
	look := func(mood sceneMood) registry.Record {
		if _, ok := seen[mood]; !ok {
			if server != nil {
				server.mood.Store(int32(mood))
				defer server.mood.Store(int32(later))
			}
			record, err := examined.Examine(context.Background(), name)
			must(t, err)
			seen[mood] = record
		}
		return seen[mood]
	}
	var records []registry.Record
	for i := 0; time.Duration(i)*sceneBeat < scenePast-sceneBeat; i++ {
		at := now.Add(time.Duration(i)*sceneBeat - scenePast)
		records = append(records, datedBack(t, look(moodThen(name, i, later)), at, i))
	}
	return records
}

// moodThen is how a double was in the past.
func moodThen(name string, beat int, later sceneMood) sceneMood {
	switch {
	case later == moodFickle && beat%2 == 0, later == moodBroken && beat > 40, name == "scanner" && beat > 20 && beat < 24:
		return moodBroken
	case later == moodLacking && beat > 55:
		return moodLacking
	}
	return moodWell
}

// datedBack is a result as if the probe had been at another time, and slower.
func datedBack(t *testing.T, record registry.Record, at time.Time, beat int) registry.Record {
	t.Helper()
	at = at.UTC().Truncate(time.Millisecond)
	id, err := uuid.NewV7()
	must(t, err)
	for i := range 6 {
		id[i] = byte(at.UnixMilli() >> (40 - 8*i) & 0xff)
	}
	const form = "2006-01-02T15:04:05.000Z"
	then := []byte(record.Summary.ProbedAt.UTC().Format(form))
	if !bytes.Contains(record.Document, then) {
		t.Fatalf("the result does not say that it is of %s: %s", then, record.Document)
	}
	record.Document = bytes.ReplaceAll(record.Document, then, []byte(at.Format(form)))
	record.ID, record.Summary.ProbedAt = id.String(), at
	wave := 1 + math.Sin(float64(beat)/5) + float64(beat*7%5)/4
	record.Summary.Latency += time.Duration(wave * 30 * float64(time.Millisecond))
	return record
}

// settle waits until every component is what the scene says.
func (s *scene) settle(t *testing.T) {
	t.Helper()
	for name, want := range sceneStatuses() {
		eventually(t, fmt.Sprintf("%s does not become %s", name, want), func() bool { return string(s.reading(t, name).Status) == want })
	}
}
