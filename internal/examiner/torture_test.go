package examiner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/probe"
	"github.com/countersign-dev/countersign/internal/registry"
)

// storms is how many random histories are tried, times what COUNTERSIGN_SOAK says.
func storms(t *testing.T) uint64 {
	t.Helper()
	factor := 1
	if text := os.Getenv("COUNTERSIGN_SOAK"); text != "" {
		var err error
		if factor, err = strconv.Atoi(text); err != nil {
			t.Fatalf("COUNTERSIGN_SOAK: %v", err)
		}
	}
	return uint64(50 * factor)
}

// TestExaminer_inAStorm has callers probe, hurry, give up and judge while the
// component is redefined over and over, each at random moments.
func TestExaminer_inAStorm(t *testing.T) {
	answered := 0
	for seed := range storms(t) {
		synctest.Test(t, func(t *testing.T) { answered += storm(t, seed) })
		if t.Failed() {
			t.Fatalf("with the seed %d", seed)
		}
	}
	if least := int(storms(t)) * 10; answered < least {
		t.Errorf("%d calls were answered, want %d at least for this to tell anything", answered, least)
	}
}

// weather is what a storm goes over.
type weather struct {
	*examiner.Examiner

	store    *memory
	answered atomic.Int64

	mu       sync.Mutex
	defined  []int // as what the component was defined, or was about to be, in order
	finished int   // definitions that count
}

func storm(t *testing.T, seed uint64) (answered int) {
	const actors, acts, definitions = 8, 6, 3
	w := &weather{store: newMemory()}
	w.store.takes = func() { pause(context.Background(), time.Millisecond/2) }
	w.Examiner = examiner.New(examiner.Options{Store: w.store, Now: time.Now, Version: "test", MaxProbes: 1, Key: signing()})
	w.ExamineWith(func(ctx context.Context, component *registry.Component, settings probe.Settings) registry.Result {
		result := passing()
		result.ProbedAt, result.Target = settings.Now(), component.Spec.(*registry.MCPServer).URL
		pause(ctx, time.Duration(settings.Now().UnixMilli()%5)*time.Millisecond)
		result.Test.Detail = time.Now().Format(time.RFC3339Nano)
		if ctx.Err() != nil {
			pause(context.Background(), time.Millisecond) // sessions are ended
		}
		return &result
	})
	w.define(t, 0)
	var all sync.WaitGroup
	for actor := range uint64(actors) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, actor))
			for range acts {
				pause(t.Context(), time.Duration(random.IntN(9_000))*time.Microsecond)
				if actor == 0 {
					w.define(t, random.IntN(definitions))
				} else {
					w.act(t, random)
				}
			}
		})
	}
	all.Wait()
	if waiting := w.Waiting("asm"); waiting != 0 || w.store.redefined != 0 {
		t.Errorf("%d still wait; %d results made the component what it was not", waiting, w.store.redefined)
	}
	if got, err := w.Probe(t.Context(), "asm"); err != nil || !got.Passed {
		t.Errorf("after the storm: %+v, %v", got.Reading, err)
	}
	return int(w.answered.Load())
}

func (w *weather) define(t *testing.T, number int) {
	w.mu.Lock()
	w.defined = append(w.defined, number)
	w.mu.Unlock()
	if err := w.Use(t.Context(), at(url(number))); err != nil {
		t.Error(err)
	}
	w.mu.Lock()
	w.finished++
	w.mu.Unlock()
}

// act is one call, for which there is not always time. An answer is recorded, is
// of what the component was at some time of the call, and of a probe that had not
// ended before the call.
func (w *weather) act(t *testing.T, random *rand.Rand) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(15_000))*time.Microsecond)
	defer cancel()
	w.mu.Lock()
	before, asked := w.finished-1, time.Now()
	w.mu.Unlock()
	var found registry.ProbeResult
	var err error
	switch random.IntN(3) {
	case 0:
		var got registry.Record
		got, err = w.Examine(ctx, "asm")
		found = decoded(got.Document)
	case 1:
		var got registry.Examination
		if got, err = w.Probe(ctx, "asm"); err == nil {
			found = w.recorded(t, *got.ResultID)
		}
	case 2:
		var got registry.Preflight
		if got, err = w.Preflight(ctx, "nightly"); err == nil {
			found = w.recorded(t, got.Slots[0].Attempts[0].ResultID)
		}
	}
	if err != nil {
		wantFault(t, err, fault.Unavailable)
		return
	}
	w.answered.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if was := w.defined[before:]; !slices.ContainsFunc(was, func(number int) bool { return url(number) == found.Target }) {
		t.Errorf("the answer is about %s, but the component was %d", found.Target, was)
	}
	if ended, err := time.Parse(time.RFC3339Nano, found.Test.Detail); err != nil || ended.Before(asked) {
		t.Errorf("the probe ended at %v, and was asked for at %v: %v", ended, asked, err)
	}
}

// recorded is a result that is recorded.
func (w *weather) recorded(t *testing.T, id string) registry.ProbeResult {
	t.Helper()
	kept, err := w.store.Result(t.Context(), id)
	if err != nil {
		t.Errorf("an answer rests on a result that is not recorded: %v", err)
	}
	return decoded(kept.Document)
}

// decoded is the result of a document, and the zero value when it is none.
func decoded(document json.RawMessage) (result registry.ProbeResult) {
	_ = json.Unmarshal(document, &result)
	return result
}

func url(number int) string { return fmt.Sprintf("http://127.0.0.1:%d", 1+number) }

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
