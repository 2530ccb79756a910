package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/countersign-dev/countersign/internal/fault"
)

// MaxProblems bounds the problems that are reported of one file.
const MaxProblems = 100

// excerptWidth bounds the characters of a line that are shown around a problem:
// with the number of the line they fit 80 columns.
const excerptWidth = 70

// DetailProblems names the detail of a fault that holds the problems of a file.
const DetailProblems = "problems"

// Problem is one thing in a file that is not as it must be. None of its texts
// holds a secret: what stands where a secret belongs is masked in the excerpt.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`    // from 1; 0 for the file as a whole
	Column  int    `json:"column,omitempty"`  // in characters, from 1
	Path    string `json:"path,omitempty"`    // the keys that lead to it, joined by dots
	Message string `json:"message"`           // what is wrong
	Hint    string `json:"hint,omitempty"`    // what to do
	Excerpt string `json:"excerpt,omitempty"` // the line, or the part of a long one around Column

	caret int // where in Excerpt the problem is, in characters from 0
}

// Error is the place and the message, on one line.
func (p Problem) Error() string {
	place := p.File
	if p.Line > 0 {
		place += ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
	}
	return place + ": " + p.Message
}

// String is the problem as people read it: the place and the message, the line
// with a caret below it, and what to do.
func (p Problem) String() string {
	var out strings.Builder
	out.WriteString(p.Error())
	if p.Excerpt != "" {
		number := strconv.Itoa(p.Line)
		margin := strings.Repeat(" ", len(number))
		fmt.Fprintf(&out, "\n  %s | %s\n  %s | %s^", number, p.Excerpt, margin, strings.Repeat(" ", p.caret))
	}
	if p.Hint != "" {
		out.WriteString("\n  " + p.Hint)
	}
	return out.String()
}

// withExcerpt gives the problem its line, cut to what fits.
func (p Problem) withExcerpt(line string) Problem {
	runes := []rune(line)
	for i, r := range runes {
		switch {
		case r == '\t':
			runes[i] = ' '
		case !unicode.IsGraphic(r):
			runes[i] = unicode.ReplacementChar
		}
	}
	p.caret = max(0, min(p.Column-1, len(runes)))
	if from := p.caret - excerptWidth/2; len(runes) > excerptWidth && from > 0 {
		runes = append([]rune{'…'}, runes[from:]...)
		p.caret -= from - 1
	}
	if len(runes) > excerptWidth {
		runes = append(runes[:excerptWidth:excerptWidth], '…')
	}
	p.Excerpt = strings.TrimRight(string(runes), " ")
	return p
}

// Invalid is a file that has problems, in the order of the file.
type Invalid struct {
	File     string
	Problems []Problem // at most MaxProblems
	Total    int
}

// Error counts the problems and gives each of them as people read it.
func (e *Invalid) Error() string {
	var out strings.Builder
	noun := "problems"
	if e.Total == 1 {
		noun = "problem"
	}
	fmt.Fprintf(&out, "%s has %d %s", e.File, e.Total, noun)
	for _, problem := range e.Problems {
		out.WriteString("\n\n" + problem.String())
	}
	if more := e.Total - len(e.Problems); more > 0 {
		fmt.Fprintf(&out, "\n\nand %d more", more)
	}
	return out.String()
}

// fault is how the problems reach whoever asked for something else than a check.
func (e *Invalid) fault() error {
	return fault.New(fault.InvalidArgument, "%s", e.Error()).
		With(DetailProblems, e.Problems).
		WithHint("Correct the file; countersign config check tells when it is valid.")
}
