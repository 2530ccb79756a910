//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sceneMood is how a double of the scene does.
type sceneMood int32

const (
	moodWell    sceneMood = iota
	moodBroken            // alive, lists its tools, and what they need cannot be executed
	moodLacking           // something optional cannot be executed
	moodFickle            // well and broken in turn
	moodSilent            // answers nothing
)

// sceneTool is a tool with what it needs on its machine.
type sceneTool struct {
	name, description string
	needs             string // a program; empty for none
}

// sceneServer is an MCP server whose gates are as its mood is.
type sceneServer struct {
	name, version string
	tools         []sceneTool
	mood          atomic.Int32
	asked         atomic.Int64
	mcp           *mcp.Server
}

func newSceneServer(name, version string, tools ...sceneTool) *sceneServer {
	s := &sceneServer{name: name, version: version, tools: tools}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: name, Version: version}, nil)
	for _, tool := range tools {
		s.offer(tool.name, tool.description)
	}
	return s
}

// offer adds a tool, or describes it anew. Each takes a target and a limit.
func (s *sceneServer) offer(tool, description string) {
	s.mcp.AddTool(&mcp.Tool{
		Name: tool, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		InputSchema: map[string]any{"type": "object", "properties": map[string]any{
			"target": map[string]any{"type": "string", "description": "What to look at."},
			"limit":  map[string]any{"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
		}, "required": []string{"target"}},
	}, nothing)
}

// handler serves the gates and the tools.
func (s *sceneServer) handler() http.Handler {
	talk := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{Stateless: true})
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		mood := sceneMood(s.mood.Load())
		switch {
		case mood == moodSilent:
			_, _ = io.Copy(io.Discard, request.Body) // only then it is seen that the client leaves
			<-request.Context().Done()
		case request.URL.Path == "/mcp":
			talk.ServeHTTP(w, request)
		case request.URL.Path == "/healthz":
			fmt.Fprintf(w, `{"status":"ok","service":%q,"version":%q}`, s.name, s.version)
		case request.URL.Path == "/test":
			s.test(w, mood)
		default:
			http.NotFound(w, request)
		}
	})
}

// test answers what can be executed.
func (s *sceneServer) test(w http.ResponseWriter, mood sceneMood) {
	broken := mood == moodBroken || mood == moodFickle && s.asked.Add(1)%2 == 0
	detail, programs := "all required tools executable", map[string]any{}
	for _, tool := range s.tools {
		if tool.needs == "" {
			continue
		}
		program := map[string]any{
			"present": true, "executable": true, "required": true, "path": "/usr/bin/" + tool.needs,
			"version": s.version, "latencyMs": 12, "ageMs": 340,
		}
		last := tool == s.tools[len(s.tools)-1]
		if broken || mood == moodLacking && last {
			program["executable"], program["required"] = false, broken
			program["detail"] = tool.needs + ": error while loading shared libraries: libpcap.so.0.8: cannot open shared object file (exit status 127)"
			detail = "degraded (optional missing): " + tool.needs
			if broken {
				detail = "required tools unusable: " + tool.needs
			}
		}
		programs[tool.needs] = program
	}
	w.Header().Set("Content-Type", "application/json")
	if broken {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": !broken, "detail": detail, "service": s.name, "version": s.version, "tools": programs})
}

// know makes the server a knowledge base: its tool search finds three chunks.
func (s *sceneServer) know(version string) {
	s.mcp.AddTool(&mcp.Tool{
		Name: "search", Description: "Search the handbook.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		InputSchema: map[string]any{"type": "object", "properties": map[string]any{"query": map[string]any{"type": "string"}}},
	}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		found := map[string]any{"content_version": version, "count": 3, "results": []map[string]string{
			{"id": "passwords.length", "text": "The password policy wants sixteen characters."},
			{"id": "passwords.reuse", "text": "A password that leaked is never used again."},
			{"id": "passwords.store", "text": "Passwords belong in the vault."},
		}}
		text, err := json.Marshal(found)
		return &mcp.CallToolResult{StructuredContent: found, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, err
	})
}

// sceneModel is a chat model that adds, under any name.
func sceneModel(t *testing.T) string {
	t.Helper()
	return listenAs(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		read, _ := io.ReadAll(request.Body)
		var asked struct{ Model string }
		if err := json.Unmarshal(read, &asked); err != nil || request.URL.Path != "/v1/chat/completions" {
			http.NotFound(w, request)
			return
		}
		fmt.Fprintf(w, `{"model":%q,"choices":[{"message":{"content":"%d"},"finish_reason":"stop"}],"usage":{"prompt_tokens":24,"completion_tokens":2,"total_tokens":26}}`,
			asked.Model, sumIn(string(read)))
	}))
}

// sceneProgram is a server over stdio that complains on standard error, as many do.
const sceneProgram = `
echo "files: serving /srv/data, read-only" >&2
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"files","version":"0.9.2"}}' ;;
  *'"tools/list"'*) result='{"tools":[{"name":"list_folder","description":"List a folder.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}' ;;
  *'"tools/call"'*) result='{"content":[{"type":"text","text":"/srv/data: 3 files"}]}' ;;
  *) continue ;;
  esac
  echo '{"jsonrpc":"2.0","id":'$id',"result":'$result'}'
done
`

// longText is evidence as agents paste it: many lines, some of them long.
func longText(lines int) string {
	var text strings.Builder
	text.WriteString("The full output of the suite:\n\n")
	for i := range lines {
		fmt.Fprintf(&text, "=== RUN   TestExport_case%03d\n--- PASS: TestExport_case%03d (0.%02ds)\n", i, i, i%97)
		if i%20 == 19 {
			text.WriteString("    export_test.go:88: " + strings.Repeat("row ", 60) + "\n")
		}
	}
	return text.String()
}
