package examiner_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/countersign-dev/countersign/internal/examiner"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// TestCursors_areOfOneList gives each list the cursors of all others, the names and
// ids that stand in it, and what a client makes of no cursor.
func TestCursors_areOfOneList(t *testing.T) {
	t.Parallel()
	n := startNightly(t, registry.Slot{}, plain)
	n.fallback.dead.Store(true)
	for range 2 {
		n.preflight(t, "nightly")
		n.preflight(t, "both")
	}
	seen := examiner.NewGlance(n.Examiner)
	var ids []string
	results := func(of string) func(string) (string, error) {
		return func(cursor string) (string, error) {
			page, err := n.Results(t.Context(), of, registry.ResultQuery{Limit: 1, Cursor: cursor})
			for _, each := range page.Results {
				ids = append(ids, each.ResultID)
			}
			return page.NextCursor, err
		}
	}
	preflights := func(of string) func(string) (string, error) {
		return func(cursor string) (string, error) {
			page, err := n.Preflights(t.Context(), of, registry.PageQuery{Limit: 1, Cursor: cursor})
			return page.NextCursor, err
		}
	}
	components := func(attention bool) func(string) (string, error) {
		return func(cursor string) (string, error) {
			page, err := seen.Components(t.Context(), registry.ComponentQuery{Attention: attention, Limit: 1, Cursor: cursor})
			return page.NextCursor, err
		}
	}
	lists := map[string]func(cursor string) (string, error){
		"components": components(false), "what needs attention": components(true),
		"results of asm": results("asm"), "results of asm-eu": results("asm-eu"),
		"preflights of nightly": preflights("nightly"), "preflights of both": preflights("both"),
		"runs": func(cursor string) (string, error) {
			page, err := n.RunPage(t.Context(), registry.PageQuery{Limit: 1, Cursor: cursor})
			return page.NextCursor, err
		},
		"slots": func(cursor string) (string, error) {
			page, err := n.SlotPage(t.Context(), registry.PageQuery{Limit: 1, Cursor: cursor})
			return page.NextCursor, err
		},
	}
	next := map[string]string{}
	for name, list := range lists {
		cursor, err := list("")
		if err != nil || cursor == "" {
			t.Fatalf("%s: cursor %q, error %v", name, cursor, err)
		}
		if _, err := list(cursor); err != nil {
			t.Errorf("%s refuses its own cursor: %v", name, err)
		}
		next[name] = cursor
	}
	for name, list := range lists {
		foreign := append(slices.Clone(ids), "null", "undefined", "asm", "nightly", "recon", next[name]+"\n", next[name][:4]+"\r\n"+next[name][4:])
		for other, cursor := range next {
			if other != name {
				foreign = append(foreign, cursor)
			}
		}
		for _, cursor := range foreign {
			_, err := list(cursor)
			var coded *fault.Error
			if !errors.As(err, &coded) || !errors.Is(err, fault.InvalidArgument) || coded.Details[fault.Field] != "cursor" || coded.Hint == "" {
				t.Errorf("%s, given the cursor %q: %v", name, cursor, err)
			}
		}
	}
}
