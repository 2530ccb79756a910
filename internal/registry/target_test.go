package registry_test

import (
	"testing"

	"github.com/countersign-dev/countersign/internal/registry"
)

func TestTarget_saysWhatIsProbedWithoutSecrets(t *testing.T) {
	t.Parallel()
	image := "registry.example/tools/scan@sha256:00"
	for want, spec := range map[string]registry.Spec{
		"http://127.0.0.1:3000":         &registry.MCPServer{URL: "http://127.0.0.1:3000"},
		"https://scan.example:8443/mcp": &registry.MCPServer{URL: "https://bob:hunter2@scan.example:8443/mcp?key=hunter2#hunter2"},
		"http://127.0.0.1:3000, MCP at http://127.0.0.1:3001/mcp": &registry.MCPServer{
			URL: "http://127.0.0.1:3000", MCPURL: "http://127.0.0.1:3001/mcp?key=hunter2",
		},
		"an address that cannot be read":    &registry.MCPServer{URL: "hunter2:hunter2"},
		"npx -y server-files /srv ...":      &registry.MCPServer{Command: []string{"/usr/bin/npx", "-y", "server-files", "/srv", "--token", "hunter2"}},
		"server ...":                        &registry.MCPServer{Command: []string{"server", "-k", "hunter2"}},
		"https://books.example/mcp":         &registry.KnowledgeBase{MCPServer: registry.MCPServer{URL: "https://books.example/mcp?key=hunter2"}},
		"adder-1 at https://api.example/v1": &registry.Model{Model: "adder-1", BaseURL: "https://api.example/v1"},
		"nova at bedrock in eu-west-1":      &registry.Model{Model: "nova", Provider: registry.ProviderBedrock, Region: "eu-west-1"},
		image:                               &registry.Harness{Image: image},
	} {
		component := &registry.Component{Spec: spec}
		if got := component.Target(); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
