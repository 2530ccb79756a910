package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// painter colours text for a terminal and breaks it to its width, and leaves it
// alone elsewhere.
type painter struct {
	on    bool
	width int // columns of the terminal; 0 elsewhere
}

// painterFor breaks lines when out is a terminal, and paints when NO_COLOR
// (no-color.org) is unset, too.
func painterFor(out io.Writer, getenv func(string) string) painter {
	return painter{
		on:    isTerminal(out) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb",
		width: widthOf(out),
	}
}

// isTerminal reports whether out is a terminal that a person may be watching.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func (p painter) wrap(code, text string) string {
	if !p.on {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p painter) bold(text string) string   { return p.wrap("1", text) }
func (p painter) dim(text string) string    { return p.wrap("2", text) }
func (p painter) red(text string) string    { return p.wrap("31", text) }
func (p painter) green(text string) string  { return p.wrap("32", text) }
func (p painter) yellow(text string) string { return p.wrap("33", text) }
