package patrol

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/internal/registry"
)

// tellChange logs what a result makes of the status of a component: what it was
// before, and what it is now. That it was unknown in between, because nobody
// patrolled, is not told for each component.
func (s *shift) tellChange(ctx context.Context, record *registry.Record, changes []registry.Change) {
	if len(changes) == 0 {
		return
	}
	from, last := changes[0].From, changes[len(changes)-1]
	if from == last.To {
		return
	}
	level := slog.LevelWarn
	if last.To == registry.Available {
		level = slog.LevelInfo
	}
	s.log.LogAttrs(ctx, level, "the status of a component has changed",
		slog.String("component", last.Component), slog.String("from", string(from)), slog.String("to", string(last.To)),
		slog.Any("causes", last.Causes), slog.String("reason", registry.Shorten(record.Summary.Reason, registry.MaxDetail)), slog.String("result", record.ID))
}

// compare warns of components whose tools are not the accepted ones, once for each
// digest, and tells of which they were accepted at first sight. The store is asked
// only about tools that are new to this shift: it alone knows what somebody has
// accepted meanwhile.
func (b *batch) compare(parting context.Context, stored []unstored) {
	fresh := map[string]*entry{}
	brought := map[string][]registry.Record{}
	for _, one := range stored {
		if digest := one.record.Summary.ToolsDigest; digest != "" && digest != one.of.compared {
			fresh[one.of.name] = one.of
			brought[one.of.name] = append(brought[one.of.name], one.record)
		}
	}
	if len(fresh) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(parting, recordWait)
	defer cancel()
	known, err := b.store.Known(ctx, slices.Sorted(maps.Keys(fresh)))
	if err != nil {
		return // The next results ask again.
	}
	for i := range known {
		one, of := &known[i], fresh[known[i].Registration.Name]
		of.compared = one.ToolsDigest
		if slices.ContainsFunc(brought[of.name], one.TrustedWith) {
			b.log.InfoContext(ctx, "tools accepted at first sight", slog.String("component", of.name), slog.String("digest", one.AcceptedDigest))
		}
		if !one.Drifted() || one.ToolsDigest == of.warned {
			continue
		}
		of.warned = one.ToolsDigest
		b.log.WarnContext(ctx, "the tools of a component are not the accepted ones", slog.String("component", of.name),
			slog.String("tools", one.ToolsDigest), slog.String("accepted", one.AcceptedDigest),
			slog.String("hint", "countersign component show "+of.name))
	}
}
