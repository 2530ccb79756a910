package cli

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/web"
)

const (
	// glanceAge is for how long what was read of all components is shown again, and
	// glanceTime how long reading it may take.
	glanceAge  = time.Second
	glanceTime = 5 * time.Second
)

// glance is what the page and the metrics show of all components, which is read
// once for all who ask within glanceAge.
type glance struct {
	read func(context.Context) ([]registry.Reading, error)
	turn chan struct{} // holds a token while somebody reads or looks below

	at       time.Time
	readings []registry.Reading
	err      error
}

func newGlance(read func(context.Context) ([]registry.Reading, error)) *glance {
	return &glance{read: read, turn: make(chan struct{}, 1)}
}

// look returns all components in the order of their names, which nobody may
// change.
func (g *glance) look(ctx context.Context) ([]registry.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, glanceTime)
	defer cancel()
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-g.turn }()
	if !g.at.IsZero() && time.Since(g.at) < glanceAge {
		return g.readings, g.err
	}
	readings, err := g.read(ctx)
	if ctx.Err() == nil { // Else it says something about who asked alone.
		g.at, g.readings, g.err = time.Now(), readings, err
	}
	return readings, err
}

// fleetPage is the table of components for the page. Why they cannot be read goes
// to the log in full and to the page in words that hold no secret.
func fleetPage(seen *glance, log *slog.Logger) func(context.Context) web.Fleet {
	return func(ctx context.Context) web.Fleet {
		readings, err := seen.look(ctx)
		if err == nil {
			return fleetOf(readings, time.Now())
		}
		if ctx.Err() == nil {
			log.WarnContext(ctx, "the page cannot tell of the components", slog.Any("cause", err))
		}
		unread := "see the log"
		if coded, ok := fault.Of(err); ok {
			unread = coded.Message
		}
		return web.Fleet{Unread: unread}
	}
}

// fleetOf lays out the components that need attention most.
func fleetOf(readings []registry.Reading, now time.Time) web.Fleet {
	fleet := web.Fleet{Total: len(readings), At: now}
	if fleet.Total > 0 {
		fleet.Counts = countedStatuses(readings)
	}
	worst := make([]*registry.Reading, len(readings))
	for i := range readings {
		worst[i] = &readings[i]
	}
	slices.SortStableFunc(worst, func(a, b *registry.Reading) int { return cmp.Compare(calm(a), calm(b)) })
	for _, one := range worst[:min(len(worst), web.MaxComponents)] {
		fleet.Components = append(fleet.Components, web.Component{
			Name: one.Name, Kind: string(one.Kind), Status: string(one.Status), Marks: pageMarks(one),
			Age: ageOf(one), Causes: causeSentences(one.Causes), Reason: one.Reason,
		})
	}
	return fleet
}

// calm orders components: the less, the sooner somebody should look.
func calm(one *registry.Reading) int {
	switch {
	case one.Status == registry.Unavailable:
		return 0
	case one.Status == registry.Unknown:
		return 1
	case one.Drifting != "":
		return 2
	case one.Degraded, one.Flapping:
		return 3
	case one.Status == registry.Probing:
		return 4
	}
	return 5
}

// pageMarks are words beside the status; empty when there are none.
func pageMarks(one *registry.Reading) string {
	marks := marksOf(one)
	if one.Drifting == "" {
		return marks
	}
	return strings.TrimSuffix("tools changed, "+marks, ", ")
}

// causeSentences are causes in words.
func causeSentences(causes []registry.Cause) []string {
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
