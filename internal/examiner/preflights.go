package examiner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/countersign-dev/countersign/internal/cursor"
	"github.com/countersign-dev/countersign/internal/registry"
)

// wasRun reports whether a run is registered, or preflights of it are kept. Faults:
// NotFound when neither is so, Unavailable.
func (e *Examiner) wasRun(ctx context.Context, name string) error {
	_, none := e.present.Load().run(name)
	if none == nil || !registry.IsName(name) {
		return none
	}
	kept, err := e.Store.Preflights(ctx, name, registry.PreflightPlace{}, 1)
	switch {
	case err != nil:
		return refused(err, "the preflights cannot be read")
	case len(kept) == 0:
		return none
	}
	return nil
}

// Preflights lists the preflights of a run, the newest first, also of one that is no
// longer registered. Faults: NotFound for one that is not
// registered and of which no preflight is kept, InvalidArgument, Unavailable.
func (e *Examiner) Preflights(ctx context.Context, run string, query registry.PageQuery) (registry.PreflightPage, error) {
	page := registry.PreflightPage{Preflights: []registry.KeptPreflight{}}
	limit, err := checkLimit(query.Limit)
	if err != nil {
		return page, err
	}
	var after registry.PreflightPlace
	if query.Cursor != "" {
		var is bool
		if after, is = placeOf(run, query.Cursor); !is {
			return page, wrongCursor()
		}
	}
	if err := e.wasRun(ctx, run); err != nil {
		return page, err
	}
	list, err := e.Store.Preflights(ctx, run, after, limit+1)
	if err != nil {
		return page, refused(err, "the preflights cannot be read")
	}
	page.Preflights = append(page.Preflights, list[:min(len(list), limit)]...)
	if len(list) > limit {
		page.NextCursor, err = cursorAfter(run, list[limit-1].Place())
	}
	return page, err
}

// cursorAfter makes the cursor of the page after a place among the preflights of a
// run: a moment in milliseconds and a digest.
func cursorAfter(run string, place registry.PreflightPlace) (string, error) {
	digest, err := hex.DecodeString(place.Digest)
	if err != nil || len(digest) != sha256.Size {
		return "", fmt.Errorf("make a cursor after the preflight %q: it is no digest", place.Digest)
	}
	return cursor.Preflights.After(run, append(cursor.AppendMoment(nil, place.At.UnixMilli()), digest...)), nil
}

// placeOf returns the place that a cursor made by cursorAfter for the run holds, and
// whether it is one.
func placeOf(run, text string) (registry.PreflightPlace, bool) {
	place, ok := cursor.Preflights.Place(run, text)
	if !ok {
		return registry.PreflightPlace{}, false
	}
	at, digest, ok := cursor.CutMoment(place)
	return registry.PreflightPlace{At: time.UnixMilli(at).UTC(), Digest: hex.EncodeToString(digest)}, ok && len(digest) == sha256.Size
}
