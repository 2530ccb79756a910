package mcpserver

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/countersign-dev/countersign/internal/task"
)

var update = flag.Bool("update", false, "write what the server says into testdata")

// Conversations are txtar archives with one file for each connection, named by
// the agent that it is locked to, or open. All of an archive work on one store.
// In them a line that begins with
//
//	> is sent and answered,
//	! is sent and not answered,
//	< is the answer,
//
// and any other line is a remark.
func TestConversations_goAsRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/conversations/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			recorded, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			operations, names := newOperations(t), newAliases()
			for i, connection := range recorded.Files {
				got := converse(t, operations, names, connection)
				if diff := cmp.Diff(string(connection.Data), got); diff != "" && !*update {
					t.Errorf("%s: the conversation went another way (-recorded +now):\n%s", connection.Name, diff)
				}
				recorded.Files[i].Data = []byte(got)
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(recorded), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// converse holds one conversation and returns how it went.
func converse(t *testing.T, operations task.Operations, names *aliases, connection txtar.File) string {
	t.Helper()
	var lock task.AgentID
	if agent, _, _ := strings.Cut(connection.Name, " "); agent != "open" {
		lock = task.AgentID(agent)
	}
	c := startStdio(t, operations, Options{Version: "0.0.0", Caller: thisProcess(lock)})
	var went strings.Builder
	for text := range strings.Lines(string(connection.Data)) {
		if strings.HasPrefix(text, "< ") {
			continue
		}
		went.WriteString(text)
		sent := names.show(strings.TrimSuffix(text[min(2, len(text)):], "\n"))
		switch {
		case strings.HasPrefix(text, "> "):
			went.WriteString("< " + names.hide(c.ask(sent)) + "\n")
		case strings.HasPrefix(text, "! "):
			c.send(sent)
		}
	}
	rest, err := c.hangUp()
	if err != nil {
		t.Errorf("%s: the server ended with %v", connection.Name, err)
	}
	if len(rest) > 0 {
		t.Errorf("%s: the server said more: %q", connection.Name, rest)
	}
	return went.String()
}
