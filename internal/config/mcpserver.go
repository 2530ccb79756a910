package config

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// mcpServer is the keys of the kind mcp_server.
type mcpServer struct {
	URL          string                `yaml:"url"`
	MCPURL       string                `yaml:"mcp_url"`
	Command      []hiddenText          `yaml:"command"`
	Env          map[string]hiddenText `yaml:"env"`
	CWD          string                `yaml:"cwd"`
	Profile      string                `yaml:"profile"`
	Credentials  credentials           `yaml:"credentials"`
	RequireTools []string              `yaml:"require_tools"`
	ExpectServer string                `yaml:"expect_server"`
	Canary       *canary               `yaml:"canary"`
	Drift        string                `yaml:"drift"`
}

// ofMCPServers is their row of the table.
func ofMCPServers() kind {
	return kind{
		name: registry.KindMCPServer, keys: func() ownKeys { return new(mcpServer) },
		doubts: doubtsOfMCPServer, shown: shownOfMCPServer,
	}
}

// spec implements ownKeys.
func (written *mcpServer) spec(c *checker, p path) registry.Spec { return written.server(c, p) }

// server is what is written of an MCP server, which a component of another kind
// may have as well.
func (written *mcpServer) server(c *checker, p path) *registry.MCPServer {
	made := &registry.MCPServer{
		Profile:      c.profile(p, written.Profile),
		RequireTools: c.texts(p.child("require_tools"), written.RequireTools),
		ExpectServer: c.text(p.child("expect_server"), written.ExpectServer),
		Canary:       c.canary(p.child("canary"), written.Canary),
		Drift:        c.drift(p.child("drift"), written.Drift),
	}
	hasURL, hasCommand := c.has(p.child("url")), c.has(p.child("command"))
	switch {
	case hasURL && hasCommand:
		c.complainOfKey(p.child("command"), "there are both url and command", "Keep url for a server that runs already, command for one that is started for each probe.")
	case hasURL:
		written.remote(c, p, made)
	case hasCommand:
		written.started(c, p, made)
	default:
		c.complainOfKey(p, "there is neither url nor command", "Say with url where the server is, or with command how it is started.")
	}
	return made
}

func (c *checker) profile(p path, written string) registry.Profile {
	switch profile := registry.Profile(written); profile {
	case registry.ThreeGates, registry.Protocol:
		return profile
	case "":
		switch {
		case c.has(p.child("profile")):
		case c.has(p.child("command")):
			return registry.Protocol
		default:
			return registry.ThreeGates
		}
	}
	c.complain(p.child("profile"), "there is no such profile", "The profiles are three-gates and protocol.")
	return registry.ThreeGates
}

func (c *checker) drift(p path, written string) registry.Drifting {
	switch drifting := registry.Drifting(written); drifting {
	case registry.DriftWarns, registry.DriftBlocks:
		return drifting
	case "":
		if !c.has(p) {
			return registry.DriftWarns
		}
	}
	if !c.broken[p] {
		c.complain(p, "this is neither warn nor block", "Write warn to be told of changed tools, or block to keep a run from starting with them.")
	}
	return registry.DriftWarns
}

// remote is a server that is called at an address.
func (written *mcpServer) remote(c *checker, p path, made *registry.MCPServer) {
	made.URL = c.address(p.child("url"), written.URL)
	made.Credentials = c.credentials(p.child("credentials"), written.Credentials)
	for _, text := range []string{written.URL, written.MCPURL} {
		if parsed, err := url.Parse(text); err == nil {
			made.Private = append(made.Private, privateOf(parsed)...)
			for _, value := range strings.FieldsFunc(parsed.RawQuery, func(r rune) bool { return r == '&' || r == '=' }) {
				c.keep(value)
			}
		}
	}
	if c.has(p.child("mcp_url")) {
		made.MCPURL = c.address(p.child("mcp_url"), written.MCPURL)
		if made.Profile == registry.Protocol {
			c.complainOfKey(p.child("mcp_url"), "in the profile protocol url is the MCP endpoint already", "Give the endpoint as url, and leave out mcp_url.")
		}
	}
	if made.Profile == registry.ThreeGates && strings.Contains(made.URL, "?") {
		c.complain(p.child("url"), "the address has a query, but paths are added to it", "Give the address that /healthz, /test and /mcp follow; an endpoint with a query goes to mcp_url.")
	}
	for _, key := range []string{"env", "cwd"} {
		if c.has(p.child(key)) {
			c.complainOfKey(p.child(key), key+" is for a server that is started by command", "Leave it out, or replace url by command.")
		}
	}
}

// started is a server that is a process of its own for each probe.
func (written *mcpServer) started(c *checker, p path, made *registry.MCPServer) {
	made.Command = c.command(p.child("command"), written.Command)
	made.Env = c.environment(p.child("env"), written.Env)
	made.Dir = cmp.Or(c.within(p.child("cwd"), written.CWD), c.folder)
	for _, key := range []string{"mcp_url", "credentials"} {
		if c.has(p.child(key)) {
			c.complainOfKey(p.child(key), key+" is for a server with a url", "Leave it out; what a started server needs to know goes to env.")
		}
	}
	if made.Profile == registry.ThreeGates {
		c.complain(p.child("profile"), "a server that is started by command has no three gates", "Leave the profile out: it is protocol.")
	}
}

func (c *checker) command(p path, written []hiddenText) []string {
	var command []string
	for _, argument := range written {
		command = append(command, string(argument))
	}
	switch {
	case c.broken[p]:
	case len(command) == 0:
		c.complain(p, "the command is empty", "Give the program and its arguments, such as [npx, -y, some-server].")
	case strings.TrimSpace(command[0]) == "" && !c.broken[p.child("0")]:
		c.complain(p, "the program is empty", "Begin the list with the program.")
	case strings.ContainsRune(strings.Join(command, ""), 0):
		c.complain(p, "an argument has a NUL character", "Remove it.")
	}
	return command
}

func (c *checker) environment(p path, written map[string]hiddenText) map[string]registry.Secret {
	if len(written) == 0 {
		return nil
	}
	made := map[string]registry.Secret{}
	for _, key := range inOrder(c, p, written) {
		if key == "" || strings.ContainsAny(key, "=\x00") {
			c.complainOfKey(p.child(key), "this is not the name of a variable", "Write NAME: value.")
		}
		made[key] = c.secretOrText(p.child(key), string(written[key]))
	}
	return made
}
