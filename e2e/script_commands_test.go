//go:build unix

package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// scriptCommands are what scripts can do beyond testscript's own commands.
func scriptCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"exits": exits, "call": call, "keep": keep, "sql": rawSQL, "serve": serve, "request": request, "repeat": repeat,
	}
}

// exits CODE PROGRAM ARG... runs a program that ends with that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case err == nil && want == 0:
	case errors.As(err, &exit) && exit.ExitCode() == want:
	case err == nil:
		ts.Fatalf("exit code 0, want %d", want)
	default:
		ts.Fatalf("%v, want exit code %d", err, want)
	}
}

// call AGENT TOOL ARGUMENTS calls a tool of a new countersign mcp process that is
// locked to the agent, or to nobody for "-", and prints the text of the result.
// With "!" the result is a tool error.
func call(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: [!] call AGENT TOOL ARGUMENTS")
	}
	ctx, cancel := context.WithTimeout(context.Background(), runTimeout)
	defer cancel()
	server := exec.CommandContext(ctx, binary(), "mcp", "--db", ts.Getenv("DB"))
	if args[0] != "-" {
		server.Args = append(server.Args, "--agent-id", args[0])
	}
	server.Env = []string{"HOME=" + ts.Getenv("HOME")}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "script", Version: "1"}, nil).
		Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	ts.Check(err)
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: args[1], Arguments: json.RawMessage(args[2])})
	ts.Check(err)
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			fmt.Fprintln(ts.Stdout(), text.Text)
		}
	}
	if result.IsError != neg {
		ts.Fatalf("isError is %v", result.IsError)
	}
}

// keep NAME keeps the first id of the last standard output in a variable.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keep NAME")
	}
	id := uuidText.FindString(ts.ReadFile("stdout"))
	if id == "" {
		ts.Fatalf("there is no id in the last output")
	}
	ts.Setenv(args[0], id)
}

// repeat NAME COUNT TEXT makes a variable of a text many times over.
func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: repeat NAME COUNT TEXT")
	}
	count, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Setenv(args[0], strings.Repeat(args[2], count))
}

// sql STATEMENT runs a statement on the database as a foreign client would: with
// another connection and none of the program's settings. With "!" it fails.
func rawSQL(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] sql STATEMENT")
	}
	driver, location := "sqlite", ts.Getenv("DB")
	if strings.HasPrefix(location, "postgres://") {
		driver = "pgx"
	}
	database, err := sql.Open(driver, location)
	ts.Check(err)
	defer database.Close()
	_, err = database.Exec(args[0])
	if err != nil {
		fmt.Fprintln(ts.Stderr(), err)
	}
	if (err != nil) != neg {
		ts.Fatalf("%s: %v", args[0], err)
	}
}

// serve FLAG... starts countersign serve on $DB and a free port, and keeps its
// address in $URL. It is killed at the end of the script.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: serve FLAG...")
	}
	env := []string{"HOME=" + ts.Getenv("HOME"), "PATH=" + ts.Getenv("PATH"), "TMPDIR=" + ts.Getenv("TMPDIR")}
	argv := append([]string{binary(), "serve", "--db", ts.Getenv("DB"), "--listen", "127.0.0.1:0"}, args...)
	started, err := launch(ts.MkAbs("."), env, argv...)
	ts.Check(err)
	ts.Defer(started.kill)
	said, listening := started.awaitText(servedAt.MatchString)
	if !listening {
		ts.Fatalf("serve said:\n%s", said)
	}
	ts.Setenv("URL", servedAt.FindStringSubmatch(said)[1])
}

// request METHOD URL [BODY [HEADER: VALUE]...] prints status and body of the
// answer. A body that begins with @ names a file; the header Host replaces the
// one of the URL.
func request(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: request METHOD URL [BODY [HEADER: VALUE]...]")
	}
	ctx, cancel := context.WithTimeout(context.Background(), runTimeout)
	defer cancel()
	var body io.Reader
	if len(args) > 2 {
		text := args[2]
		if file, isFile := strings.CutPrefix(text, "@"); isFile {
			text = ts.ReadFile(file)
		}
		body = strings.NewReader(text)
	}
	asked, err := http.NewRequestWithContext(ctx, args[0], args[1], body)
	ts.Check(err)
	for _, header := range args[min(3, len(args)):] {
		name, value, _ := strings.Cut(header, ": ")
		asked.Header.Set(name, value)
	}
	if host := asked.Header.Get("Host"); host != "" {
		asked.Host = host
	}
	client := &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(asked)
	ts.Check(err)
	defer answer.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(answer.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "status %d\n%s\n", answer.StatusCode, &text)
}
