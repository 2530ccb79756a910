package web

import (
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// driftView is how the tools differ from the accepted ones. All texts of it are
// untrusted.
type driftView struct {
	Added, Removed []string
	New            []toolView // how those of Added read, as far as it is shown
	Changed        []toolView
	Abridged       bool
}

// toolView is a tool that was changed, or added.
type toolView struct {
	Name  string
	What  string // that was changed
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
	for _, tool := range drift.New {
		view.New = append(view.New, toolView{Name: tool.Name, Texts: textsOf(tool.Texts)})
	}
	for _, tool := range drift.Changed {
		view.Changed = append(view.Changed, toolView{tool.Name, strings.Join(tool.What, ", "), textsOf(tool.Texts)})
	}
	return view
}

// Unread are the names of added tools of which nothing is shown beside the name.
func (v *driftView) Unread() []string {
	var names []string
	for _, name := range v.Added {
		if !slices.ContainsFunc(v.New, func(tool toolView) bool { return tool.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}

func textsOf(changes []registry.TextChange) []textView {
	var texts []textView
	for _, text := range changes {
		texts = append(texts, textView{
			Place:  strings.TrimSpace(text.What + " " + text.At),
			Before: marked(text.Before), After: marked(text.After), LeftOut: text.LeftOut,
		})
	}
	return texts
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
