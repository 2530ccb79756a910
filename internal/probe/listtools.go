package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gowebpki/jcs"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// toolsFound is what g3 brings home.
type toolsFound struct {
	gate   registry.GateResult
	names  []string
	digest string
	report mcpwire.Report
}

// listTools runs g3: a real client asks for the tools. The session is ended
// after the gate's clock has stopped, whatever became of the gate.
func (s MCPServer) listTools(ctx context.Context, settings Settings) (brought toolsFound) {
	client := mcpwire.New(s.Endpoint, mcpwire.Identity{Name: clientName, Version: settings.Version})
	undigested := ""
	brought.gate = guarded(ctx, settings.Timeout, func(ctx context.Context) finding {
		if err := client.Handshake(ctx); err != nil {
			return found(err)
		}
		tools, err := client.Tools(ctx)
		if err != nil {
			return found(err)
		}
		for _, tool := range tools {
			brought.names = append(brought.names, registry.Shorten(tool.Name, registry.MaxDetail))
		}
		slices.Sort(brought.names)
		if brought.digest, err = digest(tools); err != nil {
			undigested = fmt.Sprintf("listTools: the tools have no digest: %v", err)
		}
		return s.judgeTools(tools)
	})
	client.Close(ctx)
	brought.report = client.Report()
	if undigested != "" {
		brought.report.Warnings = append(brought.report.Warnings, registry.Shorten(undigested, registry.MaxDetail))
	}
	return brought
}

// judgeTools asks for at least one tool and every required one.
func (s MCPServer) judgeTools(tools []mcpwire.Tool) finding {
	var missing []string
	for _, name := range s.RequireTools {
		if !slices.ContainsFunc(tools, func(tool mcpwire.Tool) bool { return tool.Name == name }) {
			missing = append(missing, name)
		}
	}
	counted := fmt.Sprintf("%d tools", len(tools))
	if len(tools) == 1 {
		counted = "1 tool"
	}
	switch {
	case len(tools) == 0:
		return finding{registry.ZeroTools, counted}
	case len(missing) > 0:
		return finding{registry.MissingTool, registry.Shorten(
			fmt.Sprintf("%s, without %s", counted, strings.Join(missing, ", ")), registry.MaxDetail)}
	}
	return finding{detail: counted}
}

func (t toolsFound) fill(result *registry.ProbeResult) {
	result.ListTools = registry.ToolsResult{GateResult: t.gate, ToolCount: len(t.names)}
	result.Tools, result.ToolsDigest = t.names, t.digest
	result.Era, result.Transport = t.report.Era, registry.StreamableHTTP
	result.ProtocolVersion, result.Server = t.report.ProtocolVersion, t.report.Server
	result.Timings = t.report.Timings
	result.SessionsOpened, result.SessionsClosed = t.report.SessionsOpened, t.report.SessionsClosed
}

// digest is SHA-256 over the canonical JSON (RFC 8785) of what a caller relies
// on: names, descriptions, schemas and the destructive hint, in order of name.
// Key order, white space and paging do not change it; an empty list has none.
func digest(tools []mcpwire.Tool) (string, error) {
	if len(tools) == 0 {
		return "", nil
	}
	type relied struct {
		Name            string          `json:"name"`
		Description     json.RawMessage `json:"description,omitempty"`
		InputSchema     json.RawMessage `json:"inputSchema,omitempty"`
		OutputSchema    json.RawMessage `json:"outputSchema,omitempty"`
		DestructiveHint json.RawMessage `json:"destructiveHint,omitempty"`
	}
	list := make([]relied, 0, len(tools))
	for _, tool := range tools {
		list = append(list, relied(tool))
	}
	slices.SortFunc(list, func(a, b relied) int { return strings.Compare(a.Name, b.Name) })
	plain, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("write the tools as JSON: %w", err)
	}
	canonical, err := jcs.Transform(plain)
	if err != nil {
		return "", fmt.Errorf("bring the tools into canonical form: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
