package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

const clientFile = `{
  // as Claude Code, Claude Desktop, Cursor and VS Code write it
  "numStartups": 7,
  "mcpServers": {
    "My Server": {"command": "npx", "args": ["-y", "server", "--key", "${KEY}"], "env": {"TOKEN": "${TOKEN:-none}", "PORT": 8080, "ON": true}},
    "http": {
      "type": "http",
      "url": "https://api.example.org/mcp?key=${KEY}#top",
      "headers": {"authorization": "Bearer ${KEY}", "Content-Type": "application/json"},
    },
    "sse": {"type": "sse", "url": "http://127.0.0.1:8080/sse"},
    "here": {"command": "${workspaceFolder}/bin/server", "cwd": "sub", "args": ["${env:KEY}", "${workspaceFolderBasename}", "$HOME", "${userHome}"]},
    "off": {"command": "server", "disabled": true},
    "input": {"command": "server", "env": {"KEY": "${input:api-key}"}},
    "unset": {"url": "http://127.0.0.1/${UNSET}"},
    "asks": {"command": "${command:pick}"},
    "empty": {},
    "both": {"command": "server", "url": "http://127.0.0.1"},
    "socket": {"type": "ws", "url": "ws://127.0.0.1"},
    "user": {"url": "http://gate:correct-horse@127.0.0.1"},
    "scheme": {"url": "file:///correct-horse"},
    "shape": {"command": ["correct-horse"]},
    "env": {"command": "server", "env": {"A": null}},
    "file": {"command": "server", "envFile": ".env"},
    "header": {"url": "http://127.0.0.1", "headers": {"A": "correct-horse\n"}},
    "text": "correct-horse",
    "": {"command": "server"},
    "sse": {"url": "http://127.0.0.1"},
  },
}`

func env(name string) (string, bool) {
	value, ok := map[string]string{"KEY": "correct-horse", "HOME": "/home/u", "EMPTY": ""}[name]
	return value, ok
}

func TestClientServers_readsWhatTheClientsWrite(t *testing.T) {
	t.Parallel()
	servers, err := clientServers("mcp.json", clientFile, expander{workspace: "/srv/project", lookup: env})
	if err != nil {
		t.Fatal(err)
	}
	text := registry.SecretText
	base := registry.MCPServer{Profile: registry.Protocol}
	my, http, sse, here := base, base, base, base
	my.Command = []string{"npx", "-y", "server", "--key", "correct-horse"}
	my.Env = map[string]registry.Secret{"TOKEN": text("none"), "PORT": text("8080"), "ON": text("true")}
	my.Private = []registry.Secret{text("correct-horse")}
	http.URL = "https://api.example.org/mcp?key=correct-horse"
	http.Credentials.Headers = map[string]registry.Secret{"Authorization": text("Bearer correct-horse")}
	http.Private = []registry.Secret{text("correct-horse")}
	sse.URL = "http://127.0.0.1:8080/sse"
	here.Dir = "/srv/project/sub"
	here.Command = []string{"/srv/project/bin/server", "correct-horse", "project", "$HOME", "/home/u"}
	here.Private = []registry.Secret{text("/srv/project/bin/server"), text("correct-horse"), text("project"), text("/home/u")}
	want := []registry.Component{{Name: "My Server", Spec: &my}, {Name: "http", Spec: &http}, {Name: "sse", Spec: &sse}, {Name: "here", Spec: &here}}
	for i, each := range want {
		if diff := cmp.Diff(each, servers[i].Component); diff != "" || servers[i].Problem != nil {
			t.Errorf("%s (-want +got), %v:\n%s", each.Name, servers[i].Problem, diff)
		}
	}
	var problems []string
	for _, each := range servers[len(want):] {
		problems = append(problems, each.Component.Name+" "+each.Problem.Error())
	}
	wantProblems := []string{
		`input mcp.json:14:5: env: the client asks a person for the input "api-key", which a probe cannot; give it as ${NAME} in a file of its own`,
		"unset mcp.json:15:5: url: the environment variable UNSET is not set",
		"asks mcp.json:16:5: command: only the client itself can fill one of the placeholders",
		"empty mcp.json:17:5: there is neither url nor command",
		"both mcp.json:18:5: there are both url and command, and no type that says which of them counts",
		"socket mcp.json:19:5: the type is not http, sse or stdio, which are those that can be probed",
		"user mcp.json:20:5: url holds credentials; put them into headers",
		"scheme mcp.json:21:5: url is not an address that begins with http:// or https://",
		"shape mcp.json:22:5: command is not of the type that clients give it",
		"env mcp.json:23:5: the entry is not an object that describes a server",
		"file mcp.json:24:5: envFile is not read; put the variables into env",
		"header mcp.json:25:5: headers has a name or a value that HTTP does not permit",
		"text mcp.json:26:5: the entry is not an object that describes a server",
		" mcp.json:27:5: the name is empty or has more than 1000 bytes",
		"sse mcp.json:28:5: the name stands in the file a second time; keep one",
	}
	if diff := cmp.Diff(wantProblems, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	asJSON, err := json.Marshal(servers[4:])
	if err != nil || strings.Contains(fmt.Sprintf("%+v %s", servers[4:], asJSON), "correct-horse") {
		t.Errorf("a secret is repeated, or %v", err)
	}
}

func TestReadMCPServers_findsTheServersOfEachClient(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), ".vscode")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "mcp.json")
	const entry = `{"a": {"command": "x", "cwd": "${workspaceFolder}"}}`
	for _, text := range []string{
		`{"mcpServers": ` + entry + `}`,
		"\ufeff" + `{"inputs": [{"id": "k"}], "servers": ` + entry + ", /* trailing */ }",
		`{"editor.tabSize": 2, "mcp": {"servers": ` + entry + `}}`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		servers, err := ReadMCPServers(file, env)
		if err != nil || len(servers) != 1 || servers[0].Component.Spec.(*registry.MCPServer).Dir != filepath.Dir(folder) {
			t.Errorf("%s: got %+v, %v", text, servers, err)
		}
	}
}

func TestClientServers_refusesWhatIsNoSuchFile(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range MaxClientServers + 1 {
		fmt.Fprintf(&many, `"s%d": {"command": "x"},`, i)
	}
	for text, want := range map[string]fault.Code{
		"":                                        fault.InvalidArgument,
		"[]":                                      fault.InvalidArgument,
		`{"mcpServers": []}`:                      fault.InvalidArgument,
		`{"mcpServers": {}}`:                      fault.InvalidArgument,
		`{"a": correct-horse}`:                    fault.InvalidArgument,
		"{\n\"a\": \"correct-horse\n\"}":          fault.InvalidArgument,
		strings.Repeat("[", 1_000_000):            fault.TooLarge,
		strings.Repeat(`["]",`, 300_000):          fault.TooLarge,
		strings.Repeat("[// ]\n", 300_000):        fault.TooLarge,
		strings.Repeat("[/* ] */", 300_000):       fault.TooLarge,
		`{"mcpServers": {` + many.String() + `}}`: fault.TooLarge,
	} {
		servers, err := clientServers("mcp.json", text, expander{lookup: env})
		if servers != nil || !errors.Is(err, want) || strings.Contains(fmt.Sprint(err), "correct-horse") {
			t.Errorf("%.40q: got %d servers, %v; want %s", text, len(servers), err, want)
		}
	}
}

func TestFill_expandsAsTheClientsDo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                   "",
		"plain $KEY $(x) ${": "plain $KEY $(x) ${",
		"${KEY}-${KEY}":      "correct-horse-correct-horse",
		"${UNSET:-a:-b}":     "a:-b",
		"${UNSET:-}":         "",
		"${EMPTY:-b}":        "b",
		"${EMPTY}":           "",
		"${env:KEY}":         "correct-horse",
		"${userHome}${/}x":   "/home/u/x",
		"${workspaceFolder}": "/srv/project",
		"${UNSET:-${KEY}}":   "${UNSET:-correct-horse}",
	} {
		got, err := expander{workspace: "/srv/project", lookup: env}.fill("args", text)
		if got != want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
}

func TestClientServers_readsThoseOfEachProject(t *testing.T) {
	t.Parallel()
	const text = `{"numStartups": 3, "mcpServers": {"a": {"command": "x"}},
  "projects": {
    "/srv/one": {"allowedTools": [], "mcpServers": {"a": {"command": "y", "cwd": "sub"}}},
    "/srv/two": {"mcpServers": {"a": {"command": "${UNSET}"}, "b": {"command": "z"}}},
    "/srv/none": {"mcpServers": {}}, "/srv/other": 3}}`
	servers, err := clientServers("claude.json", text, expander{workspace: "/home/u", lookup: env})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, each := range servers {
		line := each.Component.Name
		if server, ok := each.Component.Spec.(*registry.MCPServer); ok && each.Problem == nil {
			line += ": " + strings.Join(server.Command, " ") + " in " + server.Dir
		} else {
			line += " " + each.Problem.Message
		}
		got = append(got, line)
	}
	want := []string{"a: x in ", "a (/srv/one): y in /srv/one/sub", "a (/srv/two) command: the environment variable UNSET is not set", "b (/srv/two): z in /srv/two"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
}
