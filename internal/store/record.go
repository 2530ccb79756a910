package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// MaxBatch bounds the results of one call of Record.
const MaxBatch = 1000

// maxDocument bounds a document that is kept; a longer one is given up.
const maxDocument = 1 << 20

// selectStored is completed by dialect.listed and a parenthesis.
const selectStored = `SELECT id FROM results WHERE id IN (`

func insertResults() insertion {
	return insertion{
		into: `INSERT INTO results (id, component, kind, probed_at, outcome, causes, reason, degraded, latency, proof, bytes, document)`, columns: 12,
	}
}

// recording is the state of one call of Record inside its transaction.
type recording struct {
	components map[string]*folded
	order      []string // of the components touched, each once
	results    []any    // values of insertResults
	hours      hourlySums
	changes    []registry.Change
	lists      map[string][]registry.Tool
	loose      looseLists
	bytes      int64 // what the account rises by
	redefined  []string
}

// folded is a component and what the batch has made of it.
type folded struct {
	known    registry.Known
	document string
	touched  bool
}

// Record stores results, all or none, and folds each into what is known of its
// component (registry.Known.After), which registers it when it was not. A result
// whose id is stored already is left out, so that the same batch may be given
// again.
//
// A fence that is not nil is that of a lease; the call also beats it. When the
// lease is lost nothing is stored: registry.ErrLeaseLost. Faults: Unavailable.
func (d *Database) Record(ctx context.Context, fence *int64, records []registry.Record) error {
	if len(records) > MaxBatch {
		return fmt.Errorf("%d results were given at once; the limit is %d", len(records), MaxBatch)
	}
	records = slices.Clone(records)
	for i := range records { // As precisely as it is read again.
		records[i].Summary.ProbedAt = moment(stamp(records[i].Summary.ProbedAt))
	}
	slices.SortStableFunc(records, func(a, b registry.Record) int {
		if c := a.Summary.ProbedAt.Compare(b.Summary.ProbedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	var redefined []string
	err := d.atomic(ctx, func(ctx context.Context, in session, _ int) (err error) {
		if fence != nil {
			if held, err := beat(ctx, in, leaseOfPatrol, *fence); err != nil || !held {
				return cmp.Or(err, registry.ErrLeaseLost)
			}
		}
		if len(records) > 0 {
			redefined, err = d.record(ctx, in, records)
		}
		return err
	})
	switch {
	case errors.Is(err, registry.ErrLeaseLost):
		return err
	case err != nil:
		return d.explained("record results", err)
	}
	for _, name := range redefined {
		d.options.Redefined(name)
	}
	return nil
}

// record folds and stores results whose lease holds. It returns the components that
// were registered as something else.
func (d *Database) record(ctx context.Context, in session, records []registry.Record) (redefined []string, err error) {
	if _, err := d.turn(ctx, in); err != nil {
		return nil, err
	}
	fresh, err := d.unstored(ctx, in, records)
	if err != nil || len(fresh) == 0 {
		return nil, err
	}
	r, err := d.begin(ctx, in, fresh)
	if err != nil {
		return nil, err
	}
	for i := range fresh {
		if err := r.add(&fresh[i]); err != nil {
			return nil, fmt.Errorf("result %s of %s: %w", fresh[i].ID, fresh[i].Registration.Name, err)
		}
	}
	return r.redefined, r.store(ctx, in, d)
}

// unstored leaves out what is stored already.
func (d *Database) unstored(ctx context.Context, in session, records []registry.Record) ([]registry.Record, error) {
	ids := make([]string, len(records))
	for i := range records {
		ids[i] = records[i].ID
	}
	listed, err := namesText(ids)
	if err != nil {
		return nil, err
	}
	stored, err := all(ctx, in, scanValue[string], selectStored+d.dialect.listed+")", listed)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(records))
	for _, id := range stored {
		seen[id] = true
	}
	fresh := make([]registry.Record, 0, len(records))
	for i := range records {
		if !seen[records[i].ID] {
			seen[records[i].ID] = true
			fresh = append(fresh, records[i])
		}
	}
	return fresh, nil
}

// begin reads the components of the results.
func (d *Database) begin(ctx context.Context, in session, records []registry.Record) (*recording, error) {
	r := &recording{
		components: make(map[string]*folded, len(records)), results: make([]any, 0, len(records)*insertResults().columns),
		hours: hourlySums{}, lists: map[string][]registry.Tool{},
	}
	names := make([]string, 0, len(records))
	for i := range records {
		if name := records[i].Registration.Name; r.components[name] == nil {
			r.components[name] = &folded{}
			names = append(names, name)
		}
	}
	known, err := d.known(ctx, in, names)
	for name, k := range known {
		r.components[name].known = k
	}
	return r, err
}

// add folds one result and collects what is to be stored of it.
func (r *recording) add(record *registry.Record) error {
	document := cleanJSON(record.Document)
	if len(document) > maxDocument {
		document = ""
	}
	if remarkable := r.fold(record, document); !remarkable && record.Summary.Outcome == registry.OutcomePassed {
		document = ""
	}
	r.hours.add(record)
	return r.keep(record, document)
}

// fold reports whether the result brought a change worth its whole document.
func (r *recording) fold(record *registry.Record, document string) bool {
	component := r.components[record.Registration.Name]
	before := component.known
	after, changes := before.After(*record)
	if after.Standing.Last.ID != record.ID {
		return false
	}
	if was := before.Registration; was != after.Registration && was != (registry.Registration{}) {
		r.redefined = append(r.redefined, was.Name)
	}
	component.known, component.document = after, document
	if !component.touched {
		component.touched = true
		r.order = append(r.order, record.Registration.Name)
	}
	r.changes = append(r.changes, changes...)
	r.loose.compare(&before, &after)
	if after.ToolsDigest == before.ToolsDigest && after.AcceptedDigest == before.AcceptedDigest {
		return len(changes) > 0
	}
	if record.ToolList != nil && record.Summary.ToolsDigest != "" {
		r.lists[record.Summary.ToolsDigest] = record.ToolList
	}
	return true
}

// keep appends the row of a result.
func (r *recording) keep(record *registry.Record, document string) error {
	s := &record.Summary
	causes, err := causesText(s.Causes)
	if err != nil {
		return err
	}
	proof, reason := cleanJSON(s.Proof), clean(s.Reason)
	bytes := resultBytes(record, len(causes)+len(reason)+len(proof)+len(document))
	r.bytes += bytes
	r.results = append(r.results, record.ID, record.Registration.Name, string(record.Registration.Kind), stamp(s.ProbedAt),
		string(s.Outcome), causes, reason, flag(s.Degraded), s.Latency.Microseconds(), proof, bytes, textOrNull(document))
	return nil
}

// store writes everything that was collected: results first, since the rest
// refers to them.
func (r *recording) store(ctx context.Context, in session, d *Database) error {
	if err := insertResults().exec(ctx, in, r.results); err != nil {
		return err
	}
	if err := r.storeLists(ctx, in); err != nil {
		return err
	}
	var rows []any
	slices.Sort(r.order)
	for _, name := range r.order {
		component := r.components[name]
		var err error
		if rows, err = componentArguments(rows, &component.known, component.document); err != nil {
			return err
		}
	}
	if err := upsertComponents().exec(ctx, in, rows); err != nil {
		return err
	}
	if err := d.loosen(ctx, in, r.loose); err != nil {
		return err
	}
	if err := storeChanges(ctx, in, r.changes); err != nil {
		return err
	}
	added, err := r.hours.store(ctx, in)
	if err != nil {
		return err
	}
	return account(ctx, in, balance{r.bytes + added, added})
}

func (r *recording) storeLists(ctx context.Context, in session) error {
	var rows []any
	for digest, list := range r.lists {
		text, err := json.Marshal(list)
		if err != nil {
			return fmt.Errorf("write a list of tools as JSON: %w", err)
		}
		rows = append(rows, digest, flag(false), strings.ToValidUTF8(string(text), "\ufffd"))
	}
	return insertTools().exec(ctx, in, rows)
}

// hourlySums are hours to be added to those that are stored, by component and start.
type hourlySums map[hourKey]*hourlySum

type hourKey struct {
	start     int64
	component string
}

type hourlySum struct{ passed, failed, undecided, sum, longest int64 }

// anHour is the length of a hourly sum as a stamp.
const anHour = int64(time.Hour / time.Millisecond)

func (h hourlySums) add(record *registry.Record) {
	at := stamp(record.Summary.ProbedAt)
	key := hourKey{at - at%anHour, record.Registration.Name}
	hour := h[key]
	if hour == nil {
		hour = &hourlySum{}
		h[key] = hour
	}
	switch record.Summary.Outcome {
	case registry.OutcomePassed:
		hour.passed++
	case registry.OutcomeFailed:
		hour.failed++
	case registry.OutcomeUndecided:
		hour.undecided++
	}
	latency := record.Summary.Latency.Microseconds()
	hour.sum += latency
	hour.longest = max(hour.longest, latency)
}
