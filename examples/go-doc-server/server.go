package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/gates"
)

const version = "1.0.0"

// docLimit is how long one question may take.
const docLimit = 10 * time.Second

// symbolForm is a package of the standard library, or something in it: net/http,
// fmt.Println, http.Client.Do. It keeps flags and other arguments out.
var symbolForm = regexp.MustCompile(`^[a-z][a-z0-9/]*(?:\.[A-Z][A-Za-z0-9]*){0,2}$`)

var goVersion = regexp.MustCompile(`^go version go(\S+)`)

// newHandler is the whole server: the MCP endpoint, and the gates beside it.
func newHandler(goCommand string) http.Handler {
	docs := documentation{goCommand}
	server := mcp.NewServer(&mcp.Implementation{Name: "go-doc", Version: version}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "doc",
		Description: "Says what the documentation of Go's standard library says about a package or a symbol.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true},
	}, docs.answer)

	mux := http.NewServeMux()
	mux.Handle("/mcp", http.NewCrossOriginProtection().Handler(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})))
	gates.Mount(mux, gates.Options{
		Service: "go-doc",
		Version: version,
		Dependencies: []gates.Dependency{
			gates.Required("go", gates.Executable{
				Path: goCommand, Args: []string{"version"}, Match: goVersion, MinVersion: "1.24",
			}),
			gates.Required("documentation", gates.Func(docs.check)),
		},
	})
	return mux
}

// documentation asks the go command.
type documentation struct{ goCommand string }

type question struct {
	Symbol string `json:"symbol" jsonschema:"a package or a symbol, such as net/http or fmt.Println"`
}

func (d documentation) answer(ctx context.Context, _ *mcp.CallToolRequest, asked question) (*mcp.CallToolResult, any, error) {
	text, err := d.of(ctx, asked.Symbol)
	if err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

func (d documentation) of(ctx context.Context, symbol string) (string, error) {
	if !symbolForm.MatchString(symbol) {
		return "", fmt.Errorf("%q is no package or symbol of the standard library, such as net/http or fmt.Println", symbol)
	}
	ctx, cancel := context.WithTimeout(ctx, docLimit)
	defer cancel()
	text, err := exec.CommandContext(ctx, d.goCommand, "doc", symbol).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go doc %s: %w: %.200s", symbol, err, text)
	}
	return string(text), nil
}

// check does a small piece of the real work, which fails when the go command is
// fine but its library's sources are not there.
func (d documentation) check(ctx context.Context) error {
	text, err := d.of(ctx, "fmt.Println")
	if err == nil && !strings.Contains(text, "func Println(") {
		err = errors.New("go doc fmt.Println does not tell of fmt.Println")
	}
	return err
}
