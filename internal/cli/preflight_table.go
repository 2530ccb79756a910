package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// slotRow is a slot in a table: its lamp, and the components that were tried.
type slotRow struct {
	slot, need string // need is empty where it is not told
	outcome    registry.Outcome
	lamp       func(width int) string
	tried      []slotEntry
}

// slotEntry is a component of a slot and what is said of it, in a colour; nil for none.
type slotEntry struct {
	component, said string
	paint           func(string) string
}

// slotTable lays slots out. A name is what a person types, so that none is cut or
// broken: on a narrow terminal what is said of a component goes below its name, and on
// a narrower one all of a slot goes below the slot's.
type slotTable struct {
	rows                    []slotRow
	paint                   painter
	slot, lamp, name, width int // columns of each; width of what stands before the components
}

// nameShown is a name, whole; what is none, as a forged ticket may have it, is cut.
func nameShown(name string) string { return cut(oneLine(name), registry.MaxName) }

// stackedMargin is the margin of the components of a slot that stand below its name.
const stackedMargin = 6

func newSlotTable(rows []slotRow, paint painter) *slotTable {
	t := &slotTable{rows: rows, paint: paint, slot: len("slot"), lamp: len("FAIL")}
	need := 0
	for _, row := range rows {
		t.slot = max(t.slot, columns(row.slot))
		if row.need != "" {
			need = len("required  ")
		}
		if row.outcome == registry.OutcomeUndecided {
			t.lamp = len(registry.OutcomeUndecided)
		}
		for _, each := range row.tried {
			t.name = max(t.name, columns(each.component))
		}
	}
	t.width = 2 + t.slot + 2 + need + t.lamp + 2
	return t
}

// half is how far what is said of a component may begin: beyond, it has no room.
func (t *slotTable) half() int { return t.paint.width / 2 }

// stacks reports whether components go below the name of their slot.
func (t *slotTable) stacks() bool {
	return t.paint.width > 0 && (t.width+2 > t.half() || t.width+t.name > t.paint.width)
}

// lines are the table, below its head where components stand beside their slots.
func (t *slotTable) lines() string {
	var out strings.Builder
	stacks := t.stacks()
	if !stacks {
		out.WriteString(t.paint.dim(t.head()) + "\n")
	}
	for i := range t.rows {
		row := &t.rows[i]
		need, column := row.need, t.width
		if need != "" {
			need += "  "
		}
		begun := fmt.Sprintf("  %-*s  %s%s  ", t.slot, row.slot, need, row.lamp(t.lamp))
		if stacks {
			column = stackedMargin
			begun = fmt.Sprintf("  %s\n    %s%s\n%*s", row.slot, need, row.lamp(0), column, "")
		}
		var entries []string
		for j := range row.tried {
			entries = append(entries, t.entry(&row.tried[j], column))
		}
		out.WriteString(begun + strings.Join(entries, "\n"+strings.Repeat(" ", column)) + "\n")
	}
	return out.String()
}

func (t *slotTable) head() string {
	need := ""
	if slices.ContainsFunc(t.rows, func(row slotRow) bool { return row.need != "" }) {
		need = "need      "
	}
	return fmt.Sprintf("  %-*s  %s%-*s  by", t.slot, "slot", need, t.lamp, "lamp")
}

// entry is a component that begins at a column, and what is said of it beside or below.
func (t *slotTable) entry(each *slotEntry, column int) string {
	text := each.component
	if beside := column + t.name + 2; each.said != "" && (t.paint.width == 0 || beside <= t.half()) {
		text = fmt.Sprintf("%-*s  %s", t.name, text, t.paint.foldFrom(each.said, beside, beside))
	} else if each.said != "" {
		text += fmt.Sprintf("\n%*s%s", column+2, "", t.paint.foldFrom(each.said, column+2, column+2))
	}
	if each.paint != nil {
		return each.paint(text)
	}
	return text
}
