package patrol

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/countersign-dev/countersign/internal/registry"
)

// tell logs what results have brought, once they are stored: changes of status, and of
// tools. The store is asked only about components of which there may be something to
// tell: it alone knows what others have found out and accepted meanwhile.
func (b *batch) tell(parting context.Context, stored []unstored) {
	about := map[string]*entry{}
	brought := map[string][]registry.Record{}
	for _, one := range stored {
		digest := one.record.Summary.ToolsDigest
		if speaksFor(one.record.Summary.Outcome) != one.of.told || digest != "" && digest != one.of.compared {
			about[one.of.name] = one.of
		}
		brought[one.of.name] = append(brought[one.of.name], one.record)
	}
	if len(about) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(parting, recordWait)
	defer cancel()
	known, err := b.store.Known(ctx, slices.Sorted(maps.Keys(about)))
	if err != nil {
		return // The next results ask again.
	}
	for i := range known {
		one, of := &known[i], about[known[i].Registration.Name]
		if one.Registration.Definition == of.definition {
			b.tellChange(ctx, one, of)
			b.compare(ctx, one, of, brought[of.name])
		}
	}
}

// speaksFor is the status for which a result speaks.
func speaksFor(outcome registry.Outcome) registry.Status {
	switch outcome {
	case registry.OutcomePassed:
		return registry.Available
	case registry.OutcomeFailed:
		return registry.Unavailable
	case registry.OutcomeUndecided:
	}
	return registry.Unknown
}

// heldBy is the status as far as it does not depend on the clock: that it was unknown
// in between, because nobody patrolled, is not told for each component.
func heldBy(standing *registry.Standing) registry.Status {
	switch {
	case standing.Settled != "":
		return standing.Settled
	case standing.Last.ID == "":
		return registry.Probing
	}
	return registry.Unknown
}

// tellChange logs that the status of a component is another than the log has told last.
func (b *batch) tellChange(ctx context.Context, known *registry.Known, of *entry) {
	from, to, last := of.told, heldBy(&known.Standing), &known.Standing.Last
	if from == to {
		return
	}
	of.told = to
	level := slog.LevelWarn
	if to == registry.Available {
		level = slog.LevelInfo
	}
	b.log.LogAttrs(ctx, level, "the status of a component has changed",
		slog.String("component", of.name), slog.String("from", string(from)), slog.String("to", string(to)),
		slog.Any("causes", last.Causes), slog.String("reason", registry.Shorten(last.Reason, registry.MaxDetail)), slog.String("result", last.ID))
}

// compare warns of a component whose tools are not the accepted ones, once for each
// digest, and tells that they were accepted at first sight.
func (b *batch) compare(ctx context.Context, one *registry.Known, of *entry, brought []registry.Record) {
	if one.ToolsDigest == of.compared {
		return
	}
	of.compared = one.ToolsDigest
	if slices.ContainsFunc(brought, one.TrustedWith) {
		b.log.InfoContext(ctx, "tools accepted at first sight", slog.String("component", of.name), slog.String("digest", one.AcceptedDigest))
	}
	if !one.Drifted() || one.ToolsDigest == of.warned {
		return
	}
	of.warned = one.ToolsDigest
	b.log.WarnContext(ctx, "the tools of a component are not the accepted ones", slog.String("component", of.name),
		slog.String("tools", one.ToolsDigest), slog.String("accepted", one.AcceptedDigest),
		slog.String("hint", "countersign component show "+of.name))
}
