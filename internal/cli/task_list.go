package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/task"
)

const (
	// maxListedTitle is how many characters of a title a list shows; task show
	// gives the whole.
	maxListedTitle = 80
	// minListedTitle is how many columns a title has to get to stand in the row.
	minListedTitle = 20
)

// pageOfTasks lays a list out: one line a task, the title last because only its
// width is not known; then how many tasks there are. On a terminal too narrow
// for that, agents and title stand below the rest, each at a margin of its own. A
// page of fewer tasks than limit that is not the last says so.
func pageOfTasks(paint painter, page task.Page, limit int) string {
	var table strings.Builder
	switch {
	case len(page.Tasks) > 0:
	case page.NextCursor != "":
		table.WriteString("No task to list among those that were looked at.\n")
	default:
		table.WriteString("No task to list.\n")
	}
	agents := len("CREATED BY")
	for _, listed := range page.Tasks {
		agents = max(agents, len(listed.CreatedBy), len(listed.ClaimedBy))
	}
	before := len(fmt.Sprintf("%-8s  %-36s  %-23s  %-*s  %-*s  ", "", "", "", agents, "", agents, ""))
	narrow := paint.width > 0 && paint.width < before+minListedTitle
	if len(page.Tasks) > 0 {
		head := fmt.Sprintf("%-8s  %-36s  %s", "STATUS", "TASK", "UPDATED")
		if !narrow {
			head = fmt.Sprintf("%-8s  %-36s  %-23s  %-*s  %-*s  %s", "STATUS", "TASK", "UPDATED", agents, "CREATED BY", agents, "CLAIMED BY", "TITLE")
		}
		fmt.Fprintf(&table, "%s\n", paint.dim(head))
	}
	for _, listed := range page.Tasks {
		row := fmt.Sprintf("%s  %s  %s", painted(paint, listed.Status, 8), listed.TaskID, shownTime(listed.UpdatedAt))
		title := oneLine(shortened(listed.Title))
		if narrow {
			fmt.Fprintf(&table, "%s\n%s", row, paint.belowRow(listed, title))
			continue
		}
		claimedBy := listed.ClaimedBy
		if claimedBy == "" {
			claimedBy = "-"
		}
		if paint.width > 0 {
			title = cut(title, paint.width-before)
		}
		fmt.Fprintf(&table, "%s  %-*s  %-*s  %s\n", row, agents, listed.CreatedBy, agents, claimedBy, title)
	}
	return table.String() + paint.afterTasks(page, limit) + paint.fold(countsOf(page))
}

// afterTasks says how a list goes on after its page; nothing after the last.
func (p painter) afterTasks(page task.Page, limit int) string {
	if page.NextCursor == "" {
		return ""
	}
	further := ""
	if 0 < len(page.Tasks) && len(page.Tasks) < limit {
		further = p.fold("No more to list among those that were looked at; the next page looks further.\n")
	}
	return further + p.nextPage(page.NextCursor)
}

// nextPage says how to ask for the page that a cursor leads to.
func (p painter) nextPage(cursor string) string {
	return p.dim(p.fold("For the next page give --cursor "+cursor)) + "\n"
}

// belowRow is what of a task does not fit its row.
func (p painter) belowRow(listed task.Summary, title string) string {
	const ours, theirs = "          ", "            "
	agents := "created by " + string(listed.CreatedBy)
	if listed.ClaimedBy != "" {
		agents += ", claimed by " + string(listed.ClaimedBy)
	}
	return p.fold(ours+agents+"\n") + theirs + p.foldFrom(title, len(theirs), len(theirs)) + "\n"
}

func countsOf(page task.Page) string {
	counted := func(n int) string {
		if n >= page.CountsCappedAt {
			return fmt.Sprintf("%d or more", n)
		}
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("All tasks: %s pending, %s claimed, %s verified, %s rejected\n", counted(page.Counts.Pending),
		counted(page.Counts.Claimed), counted(page.Counts.Verified), counted(page.Counts.Rejected))
}

func shortened(title string) string {
	if utf8.RuneCountInString(title) <= maxListedTitle {
		return title
	}
	return string([]rune(title)[:maxListedTitle-1]) + "…"
}
