package web

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// driftView is how the tools differ from the accepted ones. All texts of it are
// untrusted.
type driftView struct {
	New      []toolView // those that were added, and how they read
	Unread   []string   // the names of others that were added
	Removed  []string
	Changed  []toolView
	Abridged bool
	More     string // the tools that are not shown, counted; empty when all are
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

// driftOf lays a drift out; nil for none. Of those that changed, it shows those
// first of which it is known how they read.
func driftOf(drift *registry.Drift) *driftView {
	if drift == nil {
		return nil
	}
	view := &driftView{Abridged: drift.Abridged}
	for _, tool := range drift.New {
		view.New = append(view.New, toolView{Name: tool.Name, Texts: textsOf(tool.Texts)})
	}
	var added, removed int
	view.Unread, added = firstOf(unreadOf(drift))
	view.Removed, removed = firstOf(drift.Removed)
	tools, changed := atMost(drift.Changed, driftShown, func(tool registry.ToolChange) int { return lastUnless(len(tool.Texts) > 0) })
	for _, tool := range tools {
		view.Changed = append(view.Changed, toolView{tool.Name, strings.Join(tool.What, ", "), textsOf(tool.Texts)})
	}
	if changed+added+removed > 0 {
		view.More = fmt.Sprintf("%d changed, %d added and %d removed tools", changed, added, removed)
	}
	return view
}

// firstOf are the names that are shown, and how many are left out.
func firstOf(names []string) (shown []string, more int) {
	shown = names[:min(len(names), driftShown)]
	return shown, len(names) - len(shown)
}

// unreadOf are the names of added tools of which nothing is known beside the name.
func unreadOf(drift *registry.Drift) []string {
	read := map[string]bool{}
	for _, tool := range drift.New {
		read[tool.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(drift.Added), func(name string) bool { return read[name] })
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
