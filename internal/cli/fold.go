package cli

import (
	"cmp"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

const (
	// minTerminal is the width of the narrowest terminal that text is broken for.
	minTerminal = 40
	// hanging is how far the text that goes on is indented below a line that is not.
	hanging = 4
)

// widthOf returns the columns of the terminal that out is; 0 elsewhere, where no
// text is broken.
func widthOf(out io.Writer) int {
	file, ok := out.(*os.File)
	if !ok || !isTerminal(out) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		return 0
	}
	return max(width, minTerminal)
}

// fold breaks lines at words to fit the terminal. What goes on is indented like
// its line, or by hanging, so that no untrusted text comes to stand at the margin.
func (p painter) fold(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		whole := strings.TrimSuffix(line, "\n")
		out.WriteString(p.foldFrom(whole, 0, cmp.Or(len(whole)-len(strings.TrimLeft(whole, " ")), hanging)))
		out.WriteString(line[len(whole):])
	}
	return out.String()
}

// foldFrom does so with one line that goes on at a column, from 0; what does not
// fit there is indented by so many columns.
func (p painter) foldFrom(line string, column, indent int) string {
	if p.width == 0 || column+columns(line) <= p.width {
		return line
	}
	indent = min(indent, p.width/2)
	margin := "\n" + strings.Repeat(" ", indent)
	begun := column > indent // a word stands on the line
	var out strings.Builder
	for i, word := range strings.Split(line, " ") {
		switch space := min(i, 1); {
		case begun && column+space+columns(word) > p.width:
			out.WriteString(margin)
			column, begun = indent, false
		case i > 0:
			out.WriteString(" ")
			column++
		}
		for _, r := range word {
			if column+columnsOf(r) > p.width { // the word alone is too long
				out.WriteString(margin)
				column = indent
			}
			out.WriteRune(r)
			column += columnsOf(r)
			begun = true
		}
	}
	return out.String()
}

// cut shortens a text to so many columns.
func cut(text string, most int) string {
	if columns(text) <= most {
		return text
	}
	width := columnsOf('…')
	for i, r := range text {
		if width += columnsOf(r); width > most {
			return strings.TrimRight(text[:i], " ") + "…"
		}
	}
	return text
}

// columns is the width of a text on a terminal, or a little more.
func columns(text string) int {
	width := 0
	for _, r := range text {
		width += columnsOf(r)
	}
	return width
}

// columnsOf takes a character for wide if it may be: a line that is broken early
// is still whole, one that the terminal breaks is not.
func columnsOf(r rune) int {
	const tab, firstWide, punctuation, symbols = 8, 0x1100, 0x2000, 0x2300
	switch {
	case r == '\t':
		return tab
	case r >= firstWide && (r < punctuation || r >= symbols):
		return 2
	}
	return 1
}
