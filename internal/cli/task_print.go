package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"github.com/countersign-dev/countersign/internal/task"
)

// answer prints the answer of a call: its JSON, or one line of text.
func answer(p *process, shape any, format string, args ...any) error {
	if p.JSON {
		return printJSON(p.Out, shape)
	}
	_, err := io.WriteString(p.Out, painterFor(p.Out, p.Getenv).fold(fmt.Sprintf(format, args...)))
	return err
}

// printJSON prints a value as one line of JSON in which whatever visible would
// write out stands as a JSON escape, so that it reads back unchanged and is
// safe on a terminal.
func printJSON(out io.Writer, shape any) error {
	plain, err := json.Marshal(shape)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	var safe strings.Builder
	for _, r := range string(plain) {
		if !hidden(r) {
			safe.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&safe, `\u%04x`, unit)
		}
	}
	_, err = fmt.Fprintln(out, safe.String())
	return err
}

// hidden reports whether visible writes a character out.
func hidden(r rune) bool { return visible(string(r)) != string(r) }

// indented makes an untrusted text of several lines safe to stand below a
// heading: no line of it can pass for one of ours.
func indented(text, margin string) string {
	lines := visible(strings.ReplaceAll(strings.TrimRight(text, "\r\n"), "\r\n", "\n"))
	return margin + strings.ReplaceAll(lines, "\n", "\n"+margin)
}

// shownTime is a moment as people read it.
func shownTime(at task.Time) string { return at.Time().Format("2006-01-02 15:04:05 UTC") }

// painted gives a status its colour, after it has its width.
func painted(paint painter, status task.Status, width int) string {
	text := fmt.Sprintf("%-*s", width, status)
	switch status {
	case task.Verified:
		return paint.green(text)
	case task.Rejected:
		return paint.red(text)
	case task.Claimed:
		return paint.bold(text)
	case task.Pending:
	}
	return text
}

// readBounded reads up to limit bytes of a file, or of in when it is called -.
func readBounded(in io.Reader, name string, limit int64) (string, error) {
	if name != "-" {
		file, err := os.Open(filepath.Clean(name))
		if err != nil {
			return "", err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	content, err := io.ReadAll(io.LimitReader(in, limit))
	return string(content), err
}
