package config

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/theory/jsonpath"

	"github.com/countersign-dev/countersign/internal/registry"
)

// shownOfMCPServer is the address without its query, or the command.
func shownOfMCPServer(spec registry.Spec) Shown {
	server, ok := spec.(*registry.MCPServer)
	if !ok {
		return Shown{}
	}
	return shownOfServer(server)
}

func shownOfServer(server *registry.MCPServer) Shown {
	if len(server.Command) > 0 {
		return Shown{Profile: server.Profile, Target: shownCommand(server)}
	}
	address, _, _ := strings.Cut(server.URL, "?")
	return Shown{Profile: server.Profile, Target: address}
}

// leftOut stands for arguments that may be secret.
const leftOut = "…"

// shownCommand is the program and those arguments that cannot be secret: what a
// launcher is told to run, the flags before that, and files that are there.
func shownCommand(server *registry.MCPServer) string {
	words := server.Command[:1]
	runs := !isLauncher(server.Command[0]) // the server's own program has been named
	for _, argument := range server.Command[1:] {
		switch {
		case !runs && plainFlag().MatchString(argument):
		case !runs && !strings.HasPrefix(argument, "-"):
			runs = true
		case isThere(server.Dir, argument):
			runs = true
		default:
			runs = true
			argument = leftOut
		}
		if argument != leftOut || words[len(words)-1] != leftOut {
			words = append(slices.Clip(words), argument)
		}
	}
	return strings.Join(words, " ")
}

// plainFlag is a flag of a launcher that has no value.
var plainFlag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(-y|--yes|-m|-u)$`) })

// isLauncher reports whether a program runs the one that its first argument names.
func isLauncher(program string) bool {
	return slices.Contains([]string{"npx", "bunx", "uvx", "node", "python", "python3", "sh", "bash"}, filepath.Base(program))
}

// isThere reports whether an argument is the path of a file or a folder.
func isThere(folder, argument string) bool {
	if !strings.ContainsRune(argument, filepath.Separator) {
		return false
	}
	_, err := os.Stat(from(folder, argument))
	return err == nil
}

// from is a path that is relative to a folder unless it is absolute.
func from(folder, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(folder, name)
}

func doubtsOfMCPServer(r *reviewer, p path, component *registry.Component) []Problem {
	server, ok := component.Spec.(*registry.MCPServer)
	if !ok {
		return nil
	}
	warnings := doubtsOfServer(r, p, component.Name, server)
	if server.Profile == registry.Protocol && server.Canary == nil {
		warnings = append(warnings, r.doubtOfKey(p, "there is no canary, so the gate test will fail with not_configured",
			"Add canary: {tool: NAME} with a harmless tool of the server; a probe names a likely one."))
	}
	return warnings
}

// doubtsOfServer are those of every component that has an MCP server.
func doubtsOfServer(r *reviewer, p path, name string, server *registry.MCPServer) []Problem {
	var warnings []Problem
	for _, each := range []struct{ key, address string }{{"url", server.URL}, {"mcp_url", server.MCPURL}} {
		if each.address != "" && !server.Credentials.IsZero() && !confidential(each.address) {
			warnings = append(warnings, r.doubt(p.child(each.key), "the credentials are sent there in the clear", "Use https."))
		}
	}
	if server.Drift == registry.DriftBlocks && !r.slotted[name] {
		warnings = append(warnings, r.doubt(p.child("drift"), "this blocks nothing, since no slot names the component",
			"Name the component in a slot, or leave out the key."))
	}
	if base, err := url.Parse(server.URL); err == nil && server.Profile == registry.ThreeGates && !r.has(p.child("profile")) &&
		strings.HasSuffix(strings.TrimRight(base.Path, "/"), "/mcp") {
		warnings = append(warnings, r.doubt(p.child("url"), "this looks like an MCP endpoint, and /healthz and /test are asked for below it",
			"If the server has no gates, add profile: protocol; else give the address without /mcp."))
	}
	return slices.Concat(warnings, r.program(p.child("command").child("0"), server), r.canary(p.child("canary"), server.Canary))
}

// program says that a command will not be found. The warning does not repeat it,
// since a secret may stand there by mistake.
func (r *reviewer) program(p path, server *registry.MCPServer) []Problem {
	if len(server.Command) == 0 {
		return nil
	}
	program := server.Command[0]
	if strings.ContainsAny(program, `/\`) {
		if isProgram(from(server.Dir, program)) {
			return nil
		}
		return []Problem{r.doubt(p, "there is no program at this path", "A relative path starts at cwd, which is the folder of the file unless the component names another.")}
	}
	folders, known := r.resolver.lookup("PATH")
	if !known || slices.ContainsFunc(filepath.SplitList(folders), func(folder string) bool { return folder != "" && isProgram(filepath.Join(folder, program)) }) {
		return nil
	}
	hint := "Check the name, or give its path."
	if strings.ContainsRune(program, ' ') {
		hint = "Each argument is an entry of its own: [PROGRAM, ARGUMENT]."
	}
	return []Problem{r.doubt(p, "there is no such program on the PATH of this process", hint)}
}

// isProgram reports whether there is a file that can be started.
func isProgram(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}

// canary says that a canary's count of values tells nothing.
func (r *reviewer) canary(p path, canary *registry.Canary) []Problem {
	if canary == nil || canary.Expect.MinCount == 0 {
		return nil
	}
	parsed, err := jsonpath.Parse(canary.Expect.Path)
	if err != nil || parsed.Query().Singular() == nil {
		return nil
	}
	at := p.child("expect").child("min_count")
	if canary.Expect.MinCount > 1 {
		return []Problem{r.doubt(at, "the path selects one value at most, so this never holds",
			"Write [*] at the end of the path to count what is in a list.")}
	}
	return []Problem{r.doubt(at, "the path selects one value at most, whatever that is, so 0 and an empty list pass too",
		"Ask for a value with equals, or for what is in a list with [*] at the end of the path.")}
}
