package web

import (
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// driftView is how the tools differ from the accepted ones. All texts of it are
// untrusted.
type driftView struct {
	Added, Removed []string
	Changed        []toolView
	Abridged       bool
}

// toolView is a tool that was changed.
type toolView struct {
	Name  string
	What  string
	Texts []textView
}

// textView is one place at which a tool reads otherwise.
type textView struct {
	Place         string
	Before, After string // empty where there is nothing
	LeftOut       int
}

// driftOf lays a drift out; nil for none.
func driftOf(drift *registry.Drift) *driftView {
	if drift == nil {
		return nil
	}
	view := &driftView{Added: drift.Added, Removed: drift.Removed, Abridged: drift.Abridged}
	for _, tool := range drift.Changed {
		made := toolView{Name: tool.Name, What: strings.Join(tool.What, ", ")}
		for _, text := range tool.Texts {
			made.Texts = append(made.Texts, textView{
				Place:  strings.TrimSpace(text.What + " " + text.At),
				Before: marked(text.Before), After: marked(text.After), LeftOut: text.LeftOut,
			})
		}
		view.Changed = append(view.Changed, made)
	}
	return view
}

// marked shows where lines end and where tabs are, since white space may be what has
// changed. It is empty for nothing, which is not the empty text.
func marked(text *string) string {
	switch {
	case text == nil:
		return ""
	case *text == "":
		return "(empty)"
	}
	return strings.NewReplacer("\n", "\\n\n", "\t", "\\t").Replace(*text)
}
