package mcpserver

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/countersign-dev/countersign/internal/task"
)

var update = flag.Bool("update", false, "write what the server says into testdata")

// Conversations are txtar archives with one file for each connection, named by
// the agent that it is locked to, or open, or registry for one with the registry's
// tools. All of an archive work on one store. In them a line that begins with
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
				got := converse(t, serverFor(t, operations, connection), names, connection)
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

// serverFor returns the server that a connection of a conversation is with.
func serverFor(t *testing.T, operations task.Operations, connection txtar.File) *Server {
	t.Helper()
	options := logging(t, Options{Version: "0.0.0"})
	agent, _, _ := strings.Cut(connection.Name, " ")
	switch agent {
	case "registry":
		return NewRegistry(newFleet(), options)
	case "open":
		options.Caller = thisProcess("")
	default:
		options.Caller = thisProcess(task.AgentID(agent))
	}
	return New(operations, options)
}

// converse holds one conversation and returns how it went.
func converse(t *testing.T, server *Server, names *aliases, connection txtar.File) string {
	t.Helper()
	c := connect(t, server)
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

// greeting is the answer to initialize, in which the tool sets differ.
var greeting = regexp.MustCompile(`(?m)^< .*"instructions":.*$`)

// What a server does with lines that are no calls does not depend on its tools.
func TestConversations_goAlikeWithTheRegistry(t *testing.T) {
	for _, name := range []string{"hostile", "before_the_handshake"} {
		recorded, err := txtar.ParseFile(filepath.Join("testdata", "conversations", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, connection := range recorded.Files {
			server := NewRegistry(newFleet(), logging(t, Options{}))
			got := converse(t, server, newAliases(), connection)
			want := greeting.ReplaceAllString(string(connection.Data), "")
			if diff := cmp.Diff(want, greeting.ReplaceAllString(got, "")); diff != "" {
				t.Errorf("%s (-task gate +registry):\n%s", name, diff)
			}
		}
	}
}
