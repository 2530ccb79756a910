//go:build unix

package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// shown is one command of a console block, and what the block says of it.
//
//	$ countersign task show nothing   # exit 2
//	countersign: E_NOT_FOUND: ...
//
// A line "..." stands for any lines, "..." inside a line for any text. Ids,
// times, digests and durations match any other. A command without output lines
// may print what it likes. "\" at the end and "> " at the beginning continue a
// command. One that ends in " &" runs to the end of its block, one that is
// followed by "^C" until what it prints has appeared; it is then interrupted.
type shown struct {
	line        int
	command     string
	output      []string
	exit        int
	background  bool
	interrupted bool
}

// block is a console block of a document: commands that share a folder, a home
// and the shell's variables.
type block struct {
	document string
	line     int
	commands []shown
}

var exitComment = regexp.MustCompile(`\s+# exit (\d+)$`)

const (
	continuing = "console continued" // the fence of a block that goes on where the one before ended
	heredoc    = "<<'END'"           // how the text of a file is shown, line by line behind "> "
)

// readBlocks gives the console blocks of a document. Those that go on where the
// one before ended are part of it.
func readBlocks(document, text string) ([]block, error) {
	var blocks []block
	var open []string
	begin, continued := 0, false
	for i, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case begin == 0 && isFence && (fence == "console" || fence == continuing):
			begin, open, continued = i+1, nil, fence == continuing
		case begin != 0 && isFence:
			read, err := readCommands(begin+1, open)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", document, begin, err)
			}
			if continued && len(blocks) > 0 {
				last := &blocks[len(blocks)-1]
				last.commands = append(last.commands, read...)
			} else {
				blocks = append(blocks, block{document: document, line: begin, commands: read})
			}
			begin = 0
		case begin != 0:
			open = append(open, strings.TrimRight(line, " "))
		}
	}
	return blocks, nil
}

func readCommands(first int, lines []string) ([]shown, error) {
	var commands []shown
	for i, line := range lines {
		command, isCommand := strings.CutPrefix(line, "$ ")
		if isCommand {
			commands = append(commands, shown{line: first + i, command: command})
			continue
		}
		if len(commands) == 0 {
			return nil, fmt.Errorf("the block begins with %q instead of a command", line)
		}
		last := &commands[len(commands)-1]
		continued, isContinued := strings.CutPrefix(line, "> ")
		switch {
		case isContinued && last.output == nil && strings.Contains(last.command, heredoc):
			last.command += "\n" + continued
		case isContinued && strings.HasSuffix(last.command, `\`) && last.output == nil:
			last.command = strings.TrimSuffix(last.command, `\`) + strings.TrimSpace(continued)
		case line == "^C":
			last.interrupted = true
		default:
			last.output = append(last.output, line)
		}
	}
	for i := range commands {
		commands[i].finish()
	}
	return commands, nil
}

// finish reads what stands at the end of a command.
func (s *shown) finish() {
	if match := exitComment.FindStringSubmatch(s.command); match != nil {
		s.exit, _ = strconv.Atoi(match[1]) // the pattern has digits only
		s.command = strings.TrimSuffix(s.command, match[0])
	}
	s.command, s.background = strings.CutSuffix(s.command, " &")
	for len(s.output) > 0 && s.output[len(s.output)-1] == "" {
		s.output = s.output[:len(s.output)-1]
	}
}

// runnable gives the command as the test runs it: the built binary in place of
// go run.
func (s *shown) runnable() string {
	return strings.ReplaceAll(s.command, "go run ./cmd/countersign", "countersign")
}

// isMake reports whether the command is a make target. Those are not run from
// inside a test that they run themselves; archtest wants them to exist.
func (s *shown) isMake() bool { return strings.HasPrefix(s.command, "make ") }

// pattern matches the output, up to its end unless more may follow.
func (s *shown) pattern(moreMayFollow bool) *regexp.Regexp {
	var expression strings.Builder
	expression.WriteString(`^`)
	for _, line := range s.output {
		if line == "..." {
			expression.WriteString(`(?s:.*\n)??`)
			continue
		}
		parts := strings.Split(alike(line), "...")
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		expression.WriteString(strings.Join(parts, `.*`) + `\n`)
	}
	if !moreMayFollow {
		expression.WriteString(`\n*$`)
	}
	return regexp.MustCompile(expression.String())
}

var spaces = regexp.MustCompile(`[ \t]+`)

// alike replaces what differs from run to run by a word for its kind.
func alike(text string) string {
	text = uuidText.ReplaceAllString(text, "<id>")
	text = timeText.ReplaceAllString(text, "<time>")
	text = digestText.ReplaceAllString(text, "<digest>")
	text = durationText.ReplaceAllString(text, "<duration>")
	return spaces.ReplaceAllString(text, " ")
}
