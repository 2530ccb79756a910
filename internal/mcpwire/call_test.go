package mcpwire_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/mcpwire"
)

// regional is a server of the SDK, which compares the headers of a call with
// its body, and refuses a call that lacks them.
func regional() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "tiny", Version: "0.0.1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}`)
	server.AddTool(&mcp.Tool{Name: "good", InputSchema: schema},
		func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(request.Params.Arguments)}}}, nil
		})
	return server
}

func identified(target mcpwire.Target) *mcpwire.Client {
	return mcpwire.New(target, mcpwire.Settings{Identity: mcpwire.Identity{Name: "countersign", Version: "test"}})
}

func TestCall_carriesArgumentsInTheHeaderAsTheSDKWantsThem(t *testing.T) {
	t.Parallel()
	server := regional()
	for way, options := range sdkWays() {
		seen := &recorder{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &options)}
		endpoint := start(t, seen)
		for _, arguments := range []string{`{"region":"us-west1","n":3}`, `{"region":"Zürich \"1\""}`, `{"n":null}`, `{}`, ``} {
			client := identified(mcpwire.Target{Endpoint: endpoint})
			ctx := within(t, time.Minute)
			if err := client.Handshake(ctx); err != nil {
				t.Fatal(err)
			}
			tools, err := client.Tools(ctx)
			if err != nil {
				t.Fatal(err)
			}
			result, err := client.Call(ctx, tools[0], json.RawMessage(arguments))
			if err != nil || !strings.Contains(string(result), `"content"`) {
				t.Errorf("%s: %s: got %s, %v", way, arguments, result, err)
			}
			client.Close(ctx)
		}
		last := seen.head[len(seen.head)-1]
		if name := last.Get("Mcp-Name"); options.Stateless && name != "good" || !options.Stateless && name != "" {
			t.Errorf("%s: Mcp-Name is %q", way, name)
		}
	}
}

func TestEras_letTheNextClientBeginWithWhatWorked(t *testing.T) {
	t.Parallel()
	server := sdkServer(1)
	seen := &recorder{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)}
	endpoint := start(t, seen)
	eras := mcpwire.NewEras()
	var none *mcpwire.Eras
	for _, row := range []struct {
		eras  *mcpwire.Eras
		first string
	}{{none, "POST server/discover"}, {eras, "POST server/discover"}, {eras, "POST initialize"}, {none, "POST server/discover"}} {
		before := len(seen.seen)
		client := mcpwire.New(mcpwire.Target{Endpoint: endpoint}, mcpwire.Settings{Eras: row.eras})
		if _, err := list(within(t, time.Minute), client); err != nil {
			t.Fatal(err)
		}
		client.Close(t.Context())
		if got := seen.seen[before]; got != row.first {
			t.Errorf("the first request is %q, want %q", got, row.first)
		}
	}
}
