//go:build unix

package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// sandbox is where the commands of one block run.
type sandbox struct {
	folder string
	env    []string
	behind []*process // what runs until the block ends
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	state := filepath.Join(t.TempDir(), "variables")
	return &sandbox{folder: t.TempDir(), env: environment(t, "STATE="+state)}
}

// perform runs one command and returns what it did otherwise than shown.
func (s *sandbox) perform(t *testing.T, c shown) string {
	t.Helper()
	if c.isMake() {
		return ""
	}
	if c.background || c.interrupted {
		return s.accompany(t, c)
	}
	// The shell's variables live on in a file from one command to the next.
	const script = "set -a\nif [ -f \"$STATE\" ]; then . \"$STATE\"; fi\nexec 2>&1\n%s\ncode=$?\nexport -p >\"$STATE\"\nexit $code\n"
	ran := run(t, s.folder, s.env, "sh", "-c", fmt.Sprintf(script, c.runnable()))
	switch {
	case ran.code != c.exit:
		return fmt.Sprintf("exit code %d, want %d; it said:\n%s", ran.code, c.exit, ran.stdout)
	case c.output != nil && !c.pattern(false).MatchString(ended(alike(ran.stdout))):
		return fmt.Sprintf("it said:\n%s\nwant:\n%s", ran.stdout, strings.Join(c.output, "\n"))
	}
	return ""
}

// accompany starts a command that does not end by itself, and waits for what it
// is shown to print.
func (s *sandbox) accompany(t *testing.T, c shown) string {
	t.Helper()
	beside := start(t, s.folder, s.env, "sh", "-c", "if [ -f \"$STATE\" ]; then . \"$STATE\"; fi\nexec "+c.runnable())
	pattern := c.pattern(true)
	if said, appeared := beside.awaitText(func(text string) bool { return pattern.MatchString(ended(alike(text))) }); !appeared {
		return fmt.Sprintf("it said:\n%s\nwant:\n%s", said, strings.Join(c.output, "\n"))
	}
	if c.background {
		s.behind = append(s.behind, beside)
		return ""
	}
	if code := beside.stop(t, syscall.SIGINT); code != c.exit {
		return fmt.Sprintf("exit code %d after ^C, want %d", code, c.exit)
	}
	return ""
}

// close ends what runs beside the block.
func (s *sandbox) close(t *testing.T) {
	t.Helper()
	for _, beside := range s.behind {
		if code := beside.stop(t, syscall.SIGTERM); code != 0 {
			t.Errorf("%v ended with exit code %d", beside.command.Args, code)
		}
	}
}

// ended ends a text with a line feed, as lines are matched.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// TestDocuments_commandsDoWhatTheyShow runs every console block of every
// document. They are not parallel: documents may show fixed ports.
func TestDocuments_commandsDoWhatTheyShow(t *testing.T) {
	blocks := documentBlocks(t)
	if len(blocks) == 0 {
		t.Fatal("no document has a console block")
	}
	for _, b := range blocks {
		t.Run(fmt.Sprintf("%s line %d", b.document, b.line), func(t *testing.T) {
			box := newSandbox(t)
			for _, c := range b.commands {
				if problem := box.perform(t, c); problem != "" {
					t.Fatalf("%s:%d: %s\n%s", b.document, c.line, c.command, problem)
				}
			}
			box.close(t)
		})
	}
}

func documentBlocks(t *testing.T) []block {
	t.Helper()
	var blocks []block
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "node_modules", "testdata"}, entry.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		read, err := readBlocks(strings.TrimPrefix(filepath.ToSlash(name), "../"), string(text))
		blocks = append(blocks, read...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

// TestDocuments_liesAreFound tries the runner itself, on blocks that tell the
// truth and on blocks that do not.
func TestDocuments_liesAreFound(t *testing.T) {
	const truths = "```console\n$ NAME=world\n$ echo hello $NAME; \\\n> echo 019a3c4e-0000-7000-8000-000000000000 after 12 ms\nhello world\n" +
		"019a3c4e-1111-7111-8111-111111111111 after 7.5 s\n$ false   # exit 1\n$ printf 'a\\nb\\nc\\n'\na\n...\n$ echo one two three\none ... three\n" +
		"$ sh -c 'trap \"exit 0\" INT; echo ready; while :; do sleep 0.01; done'\nready\n^C\n```\n"
	lies := []string{"$ echo hello\ngoodbye", "$ false", "$ true   # exit 1", "$ printf 'a\\nb\\n'\na", "$ echo a\na\nb", "$ sh -c 'echo not yet'\nready\n^C"}
	check := func(t *testing.T, text string) (problems int) {
		blocks, err := readBlocks("made-up.md", text)
		if err != nil || len(blocks) != 1 {
			t.Fatalf("read %d blocks (%v)", len(blocks), err)
		}
		box := newSandbox(t)
		for _, c := range blocks[0].commands {
			if problem := box.perform(t, c); problem != "" {
				t.Logf("%s: %s", c.command, problem)
				problems++
			}
		}
		return problems
	}
	if problems := check(t, truths); problems != 0 {
		t.Errorf("found %d lies in a true block", problems)
	}
	for _, lie := range lies {
		if problems := check(t, "```console\n"+lie+"\n```\n"); problems != 1 {
			t.Errorf("found %d lies in %q, want 1", problems, lie)
		}
	}
	if _, err := readBlocks("made-up.md", "```console\nhello\n```\n"); err == nil {
		t.Error("a block that begins without a command is no error")
	}
}
