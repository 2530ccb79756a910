package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// version is the released version; a build from a module version reports that one.
const version = "0.1.0"

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(p *process) error { return printVersion(p.Out, p.JSON) }

func printVersion(out io.Writer, asJSON bool) error {
	commit := "unknown"
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range build.Settings {
			if setting.Key == "vcs.revision" {
				commit = setting.Value
			}
		}
	}
	shape := struct {
		Version          string   `json:"version"`
		Commit           string   `json:"commit"`
		ProtocolVersions []string `json:"protocol_versions"`
	}{version, commit, []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}}
	if asJSON {
		return json.NewEncoder(out).Encode(shape)
	}
	_, err := fmt.Fprintf(out, "countersign %s (commit %s), MCP %s\n", shape.Version, shape.Commit, strings.Join(shape.ProtocolVersions, ", "))
	return err
}
