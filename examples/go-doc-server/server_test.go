package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/gates/gatestest"
)

// link makes a go command that can be taken away.
func link(t *testing.T) (path string, makeLink, removeLink func()) {
	t.Helper()
	program, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "go")
	makeLink = func() {
		if err := os.Symlink(program, path); err != nil {
			t.Error(err)
		}
	}
	removeLink = func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
	makeLink()
	return path, makeLink, removeLink
}

func TestServer_passesTheGatesAndSurvivesItsClients(t *testing.T) {
	path, repair, breaking := link(t)
	server := httptest.NewServer(newHandler(path))
	defer server.Close()
	gatestest.Run(t, server.URL, gatestest.RequireTools("doc"), gatestest.Breakable(breaking, repair))
}

func TestDoc_answersWithTheDocumentation(t *testing.T) {
	server := httptest.NewServer(newHandler("go"))
	defer server.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	for symbol, want := range map[string]struct {
		text    string
		isError bool
	}{
		"net/http.Get":   {"func Get(url string)", false},
		"fmt":            {"package fmt", false},
		"fmt.Nothing":    {"go doc fmt.Nothing: exit status 1", true},
		"-http":          {"is no package or symbol", true},
		"example.com/x":  {"is no package or symbol", true},
		"fmt Println":    {"is no package or symbol", true},
		"fmt.Println\n.": {"is no package or symbol", true},
	} {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "doc", Arguments: map[string]any{"symbol": symbol}})
		if err != nil {
			t.Fatal(err)
		}
		text := result.Content[0].(*mcp.TextContent).Text
		if result.IsError != want.isError || !strings.Contains(text, want.text) {
			t.Errorf("doc %q: error %v, %.200q, want error %v, %q", symbol, result.IsError, text, want.isError, want.text)
		}
	}
}
