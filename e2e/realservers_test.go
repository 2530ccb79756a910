//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// realServer is a server of somebody else. What a probe must say of it stands
// under its name in the golden table.
type realServer struct {
	name string
	// start starts what must run beforehand, and returns what probe is given.
	start func(t *testing.T) []string
	env   []string
}

const goldenServers = "testdata/realservers.golden.md"

// TestProbe_ofRealServers probes servers that are pinned by version in
// node/package.json, each by itself, and then many of them at once as a client has
// them in its file. No process is left of any.
func TestProbe_ofRealServers(t *testing.T) {
	t.Parallel()
	table := readServerTable(t)
	t.Cleanup(func() { table.write(t) })
	for _, server := range slices.Concat(serversWithGates(), serversOverHTTP(), npmServers(), nativeServers()) {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			asked := server.start(t)
			env := environment(t, append(memoryFile(t), server.env...)...)
			probed := run(t, t.TempDir(), env, append([]string{binary(), "probe", "--json", "--timeout", "60s"}, asked...)...)
			table.compare(t, server.name, decodeProbe(t, probed.stdout).row(probed.code), probed.stdout+probed.stderr)
			nothingLeft(t, env)
		})
	}
	t.Run("all at once", func(t *testing.T) {
		t.Parallel()
		probeAtOnce(t, table)
	})
}

// probeAtOnce writes the file of a client that has all servers that are commands,
// and some that run already, and probes them with one command.
func probeAtOnce(t *testing.T, table *serverTable) {
	t.Helper()
	type entry struct {
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
	}
	entries := map[string]entry{}
	for _, server := range slices.Concat(npmServers(), nativeServers()) {
		_, command, _ := cutAt(server.start(t), "--")
		one := entry{Command: command[0], Args: command[1:], Env: map[string]string{}}
		for _, variable := range server.env {
			name, value, _ := strings.Cut(variable, "=")
			one.Env[name] = value
		}
		entries[server.name] = one
	}
	everything, figma := startEverything(t)[0]+"/mcp", startFigma(t)
	entries["server-everything that runs"] = entry{URL: everything}
	entries["figma that runs"] = entry{URL: figma[2]}
	text, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	writeFile(t, file, string(text))
	env := environment(t, memoryFile(t)...)
	probed := run(t, t.TempDir(), env, binary(), "probe", "--json", "--timeout", "60s", "--mcp-config", file)
	var results []json.RawMessage
	if err := json.Unmarshal([]byte(probed.stdout), &results); err != nil || len(results) != len(entries) || probed.code != 1 {
		t.Fatalf("got %d results and exit code %d (%v), want %d and 1\n%s%s", len(results), probed.code, err, len(entries), probed.stdout, probed.stderr)
	}
	for _, raw := range results {
		one := decodeProbe(t, string(raw))
		table.compare(t, "at once: "+one.Target, one.row(1), string(raw))
	}
	nothingLeft(t, env)
}

func cutAt(all []string, mark string) (before, after []string, found bool) {
	at := slices.Index(all, mark)
	if at < 0 {
		return all, nil, false
	}
	return all[:at], all[at+1:], true
}

// nothingLeft looks for processes with the home of this environment, which all
// that a probe starts inherits, however it leaves its group.
func nothingLeft(t *testing.T, env []string) {
	t.Helper()
	if left := processesIn(t, env[0]); len(left) != 0 {
		t.Errorf("left running: %v", left)
	}
}

func processesIn(t *testing.T, variable string) []string {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range environments {
		variables, err := os.ReadFile(file)
		if err != nil || !slices.Contains(strings.Split(string(variables), "\x00"), variable) {
			continue // gone, or somebody else's
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
	}
	return found
}

// serverTable is the golden table: one row for each server, by its name.
type serverTable struct {
	mu   sync.Mutex
	want map[string]string
	got  map[string]string
}

const serverTableHead = "Verdicts of `countersign probe` on real servers, written by the tests of e2e.\n\n" +
	"| server | healthz | test | listTools | spoken | sessions opened, closed | exit |\n|---|---|---|---|---|---|---|\n"

func readServerTable(t *testing.T) *serverTable {
	t.Helper()
	content, err := os.ReadFile(goldenServers)
	if err != nil && !*update {
		t.Fatalf("%v; -update writes it", err)
	}
	table := &serverTable{want: map[string]string{}, got: map[string]string{}}
	for line := range strings.Lines(strings.TrimPrefix(string(content), serverTableHead)) {
		name, row, _ := strings.Cut(strings.Trim(line, "| \n"), " | ")
		table.want[name] = row
	}
	return table
}

func (s *serverTable) compare(t *testing.T, name, row, said string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got[name] = row
	if !*update && s.want[name] != row {
		t.Errorf("%s\n got: %s\nwant: %s\n%s", name, row, s.want[name], said)
	}
}

// write keeps the rows of servers that were not probed here.
func (s *serverTable) write(t *testing.T) {
	t.Helper()
	if !*update {
		return
	}
	maps.Copy(s.want, s.got)
	text := serverTableHead
	for _, name := range slices.Sorted(maps.Keys(s.want)) {
		text += fmt.Sprintf("| %s | %s |\n", name, s.want[name])
	}
	if err := os.WriteFile(goldenServers, []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}
