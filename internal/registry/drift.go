package registry

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// What of a drift is shown. Names are never left out.
const (
	// MaxDriftTexts bounds the texts of a drift, and MaxToolTexts those of one tool.
	MaxDriftTexts = 32
	MaxToolTexts  = 8
	// MaxDriftText bounds each of two texts that differ, in bytes.
	MaxDriftText = 1000
	// driftContext is how much of what did not change stands around what did, where
	// a text is too long to be shown whole.
	driftContext = 100
	// maxDriftDepth is how deep in a schema differences are looked for.
	maxDriftDepth = 16
	// maxDriftPath bounds the place of a difference in a schema, in bytes.
	maxDriftPath = 200
)

// descriptionPart is the part that is text and no schema.
const descriptionPart = "description"

// Drift is the difference between an accepted list of tools and another: names,
// each list sorted.
type Drift struct {
	Added    []string     `json:"added,omitempty"`
	New      []NewTool    `json:"new,omitempty"` // how those of Added read
	Removed  []string     `json:"removed,omitempty"`
	Changed  []ToolChange `json:"changed,omitempty"`
	Abridged bool         `json:"abridged,omitempty"` // some texts of New and Changed are not shown, or not whole
}

// NewTool is how a tool reads that was added: at most MaxToolTexts texts, in the
// order of ToolChange.What, none of which has a Before.
type NewTool struct {
	Name  string       `json:"name"`
	Texts []TextChange `json:"texts"`
}

// ToolChange names what of a tool is different: description, inputSchema,
// outputSchema, destructiveHint, in this order.
type ToolChange struct {
	Name  string       `json:"name"`
	What  []string     `json:"what"`
	Texts []TextChange `json:"texts,omitempty"` // how it reads; at most MaxToolTexts
}

// TextChange is one place at which a tool reads otherwise. Before and After are
// untrusted text of at most MaxDriftText bytes; nil where there is nothing. A
// description is given as it reads, what is within a schema as canonical JSON.
type TextChange struct {
	What    string  `json:"what"`
	At      string  `json:"at,omitempty"` // the member of a schema, such as properties.limit.maximum
	Before  *string `json:"before,omitempty"`
	After   *string `json:"after,omitempty"`
	LeftOut int     `json:"left_out,omitempty"` // bytes that differ and are not shown
}

// IsZero reports whether there is no difference.
func (d Drift) IsZero() bool { return len(d.Added) == 0 && len(d.Removed) == 0 && len(d.Changed) == 0 }

// String lists the names, and what of each tool has changed: "added a; removed b;
// changed c (description, inputSchema)". It is untrusted text.
func (d Drift) String() string {
	var parts []string
	for _, part := range []struct {
		verb  string
		names []string
	}{{"added ", d.Added}, {"removed ", d.Removed}, {"changed ", d.changed()}} {
		if len(part.names) > 0 {
			parts = append(parts, part.verb+strings.Join(part.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

func (d Drift) changed() []string {
	var names []string
	for _, tool := range d.Changed {
		names = append(names, tool.Name+" ("+strings.Join(tool.What, ", ")+")")
	}
	return names
}

// DriftOf compares two lists of tools by what ToolsDigest covers: the drift is
// zero if and only if the digests are equal. No list names a tool twice. Half of
// MaxDriftTexts is kept for tools that were added, so that changes do not hide them.
func DriftOf(accepted, present []Tool) Drift {
	before, after := byName(accepted), byName(present)
	var drift Drift
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, known := before[name]; !known {
			drift.Added = append(drift.Added, name)
		}
	}
	room := MaxDriftTexts
	kept := min(len(drift.Added), MaxDriftTexts/2)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		old, known := before[name]
		if !known {
			continue
		}
		change, abridged := changeOf(old, after[name], min(room-kept, MaxToolTexts))
		if len(change.What) > 0 {
			drift.Changed = append(drift.Changed, change)
			drift.Abridged = drift.Abridged || abridged
			room -= len(change.Texts)
		}
	}
	texts, abridged := readAdded(drift.Added, after, room)
	drift.New, drift.Abridged = texts, drift.Abridged || abridged
	for name := range before {
		if _, still := after[name]; !still {
			drift.Removed = append(drift.Removed, name)
		}
	}
	slices.Sort(drift.Removed)
	return drift
}

// readAdded gives the tools that were added at most so many texts: one to each
// before any has a second.
func readAdded(added []string, present map[string]Tool, room int) (read []NewTool, abridged bool) {
	whole := make([]ToolChange, len(added))
	shown := make([]int, len(added))
	for i, name := range added {
		var cut bool
		whole[i], cut = changeOf(Tool{}, present[name], MaxToolTexts)
		abridged = abridged || cut
	}
	for round := range MaxToolTexts {
		for i := range whole {
			switch {
			case round >= len(whole[i].Texts):
			case room == 0:
				abridged = true
			default:
				shown[i]++
				room--
			}
		}
	}
	for i, tool := range whole {
		if shown[i] > 0 {
			read = append(read, NewTool{Name: tool.Name, Texts: tool.Texts[:shown[i]]})
		}
	}
	return read, abridged
}

func byName(tools []Tool) map[string]Tool {
	named := make(map[string]Tool, len(tools))
	for _, tool := range tools {
		named[tool.Name] = tool
	}
	return named
}

// changeOf compares two descriptions of one tool and gives at most so many texts.
func changeOf(before, after Tool, most int) (change ToolChange, abridged bool) {
	change.Name = after.Name
	texts := textChanges{most: most}
	for _, part := range []struct {
		name       string
		old, fresh json.RawMessage
	}{
		{descriptionPart, before.Description, after.Description},
		{"inputSchema", before.InputSchema, after.InputSchema},
		{"outputSchema", before.OutputSchema, after.OutputSchema},
		{"destructiveHint", before.DestructiveHint, after.DestructiveHint},
	} {
		if differ(part.old, part.fresh) {
			change.What = append(change.What, part.name)
			texts.compare(part.name, "", part.old, part.fresh, 0)
		}
	}
	change.Texts = texts.found
	return change, texts.abridged
}

// differ reports whether two parts are not the same, of which either may be
// absent.
func differ(a, b json.RawMessage) bool { return (a == nil) != (b == nil) || !SameJSON(a, b) }

// textChanges gathers texts that differ.
type textChanges struct {
	most     int
	found    []TextChange
	abridged bool
}

// compare goes into objects as long as both are some, so that what differs is
// shown without all that does not. Both are known to differ.
func (c *textChanges) compare(what, at string, before, after json.RawMessage, depth int) {
	if len(c.found) >= c.most {
		c.abridged = true
		return
	}
	var names []string
	old, fresh := membersOf(before), membersOf(after)
	if old != nil && fresh != nil && depth < maxDriftDepth {
		names = differing(old, fresh)
	}
	for _, name := range names {
		c.compare(what, strings.TrimPrefix(at+"."+name, "."), old[name], fresh[name], depth+1)
	}
	if len(names) == 0 {
		was, is := readable(before, what == descriptionPart), readable(after, what == descriptionPart)
		if was != nil && is != nil && *was == *is { // such as "5" and 5
			was, is = readable(before, false), readable(after, false)
		}
		c.add(TextChange{What: what, At: Shorten(at, maxDriftPath)}, was, is)
	}
}

// differing names the members that two objects do not have in common, sorted.
func differing(before, after map[string]json.RawMessage) []string {
	all := maps.Clone(before)
	maps.Copy(all, after)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if differ(before[name], after[name]) {
			names = append(names, name)
		}
	}
	return names
}

// add gathers a change of two texts; nil where there is none.
func (c *textChanges) add(change TextChange, before, after *string) {
	was, is, leftOut := excerpts(*cmp.Or(before, new("")), *cmp.Or(after, new("")))
	if before != nil {
		change.Before = &was
	}
	if after != nil {
		change.After = &is
	}
	change.LeftOut = leftOut
	c.abridged = c.abridged || leftOut > 0
	c.found = append(c.found, change)
}

// membersOf are those of an object; nil for anything else.
func membersOf(raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

// readable is a part as text, nil when it is absent: canonical JSON, or what a
// string in JSON says.
func readable(raw json.RawMessage, asSaid bool) *string {
	if raw == nil {
		return nil
	}
	var said string
	if asSaid && json.Unmarshal(raw, &said) == nil {
		return new(said)
	}
	canonical, err := canonicalJSON(raw)
	if err != nil {
		return new(strings.ToValidUTF8(string(raw), "\ufffd"))
	}
	return new(canonical[1 : len(canonical)-1])
}

// excerpts are two texts as they are, or where one is too long the places at which
// they differ, of MaxDriftText bytes at most, and how many bytes that differ are
// left out of both.
func excerpts(before, after string) (was, is string, leftOut int) {
	if max(len(before), len(after)) <= MaxDriftText {
		return before, after, 0
	}
	same := 0
	for same < min(len(before), len(after)) && before[same] == after[same] {
		same++
	}
	tail := 0
	for tail < min(len(before), len(after))-same && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	var gone [2]int
	was, gone[0] = excerpt(before, same, len(before)-tail)
	is, gone[1] = excerpt(after, same, len(after)-tail)
	return was, is, gone[0] + gone[1]
}

// excerpt is a text from start to end with what stands around, and how much of it
// is left out.
func excerpt(text string, start, end int) (shown string, leftOut int) {
	const mark = "..."
	first := runeStart(text, max(0, start-driftContext))
	last := runeStart(text, min(len(text), end+driftContext, first+MaxDriftText-2*len(mark)))
	shown = text[first:last]
	if first > 0 {
		shown = mark + shown
	}
	if last < len(text) {
		shown += mark
	}
	return shown, max(0, end-last)
}

// runeStart is the beginning of the character at a place.
func runeStart(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
