//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// envDriver makes the test binary what another program starts.
const envDriver = "COUNTERSIGN_E2E_DRIVER"

// Values of envDriver.
const (
	driveSuite = "suite" // the client of the conformance suite
	driveStdio = "stdio" // a server over its standard streams
)

// driven is what the driver tells of one probe.
type driven struct {
	Code   int    `json:"code"`
	Stdout string `json:"stdout"`
}

// drive leads the prober through the scenario that the suite names. It fails only
// when a question could not be asked: the servers of some scenarios list no tools,
// and what they are there for is judged by the suite.
func drive(address string) error {
	for _, scenario := range clientScenarios() {
		if scenario.name != os.Getenv("MCP_CONFORMANCE_SCENARIO") {
			continue
		}
		probes, err := scenario.probes(address)
		if err != nil {
			return err
		}
		for _, one := range probes {
			if err := one.run(); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("there is no scenario %s", os.Getenv("MCP_CONFORMANCE_SCENARIO"))
}

func (c proberCall) run() error {
	command := exec.Command(binary(), append([]string{"probe", "--json", "--timeout", "60s"}, c.flags...)...)
	command.Env = append(os.Environ(), c.env...)
	command.Stderr = os.Stderr
	said, err := command.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	if code := command.ProcessState.ExitCode(); code != 0 && code != 1 {
		return fmt.Errorf("probe %v: %w", c.flags, err)
	}
	return json.NewEncoder(os.Stdout).Encode(driven{command.ProcessState.ExitCode(), string(said)})
}

func plainProbe(address string) ([]proberCall, error) {
	return []proberCall{{flags: []string{"--profile", "protocol", address}}}, nil
}

func callTool(tool, arguments string, flags ...string) func(address string) ([]proberCall, error) {
	return func(address string) ([]proberCall, error) {
		all := []string{"--profile", "protocol", address, "--call", tool, "--arguments", arguments, "--force"}
		return []proberCall{{flags: append(all, flags...)}}, nil
	}
}

// scenarioContext is what the suite tells the client.
type scenarioContext struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ToolCalls    []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

func readContext() (told scenarioContext, err error) {
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &told); err != nil {
		return told, fmt.Errorf("read the context of the scenario: %w", err)
	}
	return told, nil
}

// callsOfContext makes the calls that the suite asks for, a probe each.
func callsOfContext(address string) ([]proberCall, error) {
	told, err := readContext()
	if err != nil {
		return nil, err
	}
	var probes []proberCall
	for _, call := range told.ToolCalls {
		one, err := callTool(call.Name, string(call.Arguments))(address)
		if err != nil {
			return nil, err
		}
		probes = append(probes, one...)
	}
	return probes, nil
}

// invalidTools are those that a client must not call, whoever asks it to.
func invalidTools() []string {
	return []string{
		"invalid_empty_header", "invalid_object_header", "invalid_array_header", "invalid_null_header", "invalid_number_header",
		"invalid_duplicate_same_case", "invalid_duplicate_diff_case", "invalid_space_in_name", "invalid_colon_in_name",
		"invalid_non_ascii_name", "invalid_control_char_name",
	}
}

// callInvalidTools names each tool of the scenario as a canary, with force.
func callInvalidTools(address string) ([]proberCall, error) {
	probes, err := callTool("valid_tool", `{"region":"us-west1"}`)(address)
	if err != nil {
		return nil, err
	}
	for _, tool := range invalidTools() {
		one, err := callTool(tool, `{}`)(address)
		if err != nil {
			return nil, err
		}
		probes = append(probes, one...)
	}
	return probes, nil
}

// componentOfContext does what a person does who registers the server: it reads
// the issuer from the server's metadata, once, and pins it in the file.
func componentOfContext(address string) ([]proberCall, error) {
	told, err := readContext()
	if err != nil {
		return nil, err
	}
	issuer, err := issuerOf(address)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "countersign-suite-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, "countersign.yaml")
	text := fmt.Sprintf(`
components:
  suite:
    kind: mcp_server
    url: %s
    profile: protocol
    credentials:
      oauth: {issuer: %q, client_id: %q, client_secret: env:SUITE_SECRET}
    canary: {tool: test-tool, force: true}
`, address, issuer, told.ClientID)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return []proberCall{{flags: []string{"suite", "--config", file}, env: []string{"SUITE_SECRET=" + told.ClientSecret}}}, nil
}

// issuerOf reads the first authorization server of the protected resource
// metadata (RFC 9728, section 3).
func issuerOf(address string) (string, error) {
	at, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	at.Path = "/.well-known/oauth-protected-resource" + at.Path
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var metadata struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := json.NewDecoder(response.Body).Decode(&metadata); err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	if len(metadata.Servers) == 0 {
		return "", fmt.Errorf("%s names no authorization server", at)
	}
	return metadata.Servers[0], nil
}
