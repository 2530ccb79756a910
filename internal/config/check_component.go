package config

import (
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// isPlanned reports whether a later version will know a kind, whose keys this
// one cannot judge.
func isPlanned(kind string) bool {
	return kind == "model" || kind == "harness" || kind == "knowledge_base"
}

// knowsKind reports whether the keys of a component can be judged: they belong
// to its kind. One that is not known is taken for a mistyped mcp_server.
func (d *decoder) knowsKind(pairs []pair, p path) bool {
	i := slices.IndexFunc(pairs, func(each pair) bool { return each.name == "kind" })
	if i < 0 {
		d.add(d.places[p].key, p.child("kind"), "kind is missing", "Add the line kind: mcp_server.")
		return true
	}
	where, at := startOf(pairs[i].node), p.child("kind")
	switch kind := pairs[i].node.GetToken().Value; {
	case kind == string(registry.KindMCPServer):
	case isPlanned(kind):
		d.add(where, at, "this version does not know components of the kind "+kind,
			"It knows the kind mcp_server. Leave out this component, or use a version that knows its kind.")
		return false
	default:
		d.add(where, at, "there is no kind "+quotedKey(kind), "The kind that this version knows is mcp_server.")
	}
	return true
}

// planned reads of a component of a planned kind what secrets may stand in it,
// and judges nothing.
func (d *decoder) planned(pairs []pair, p path, value reflect.Value) {
	fields := keysOf(value.Type())
	told := len(d.problems)
	for _, each := range pairs {
		if each.name == "kind" || each.name == "credentials" {
			d.into(each.node, p.child(each.name), value.Field(slices.Index(fields, each.name)))
		}
		if each.name != "kind" {
			d.hide(each.node)
		}
	}
	d.problems = d.problems[:told]
}

func (c *checker) component(name string, written component) registry.Component {
	p := path("components").child(name)
	c.named(p, name)
	switch {
	case c.broken[p]:
		return registry.Component{}
	case isPlanned(written.Kind):
		c.openSecrets(p.child("credentials"), written.Credentials)
		return registry.Component{}
	}
	made := registry.Component{
		Name:     name,
		Spec:     c.mcpServer(p, written),
		Timeout:  c.duration(p.child("timeout"), written.Timeout, 1, maxTimeout),
		Interval: c.duration(p.child("interval"), written.Interval, minInterval, maxInterval),
	}
	return made
}

// mcpServer is what a component of the kind mcp_server is.
func (c *checker) mcpServer(p path, written component) *registry.MCPServer {
	made := &registry.MCPServer{
		Profile:      c.profile(p, written.Profile),
		RequireTools: c.texts(p.child("require_tools"), written.RequireTools),
		ExpectServer: c.text(p.child("expect_server"), written.ExpectServer),
		Canary:       c.canary(p.child("canary"), written.Canary),
	}
	hasURL, hasCommand := c.has(p.child("url")), c.has(p.child("command"))
	switch {
	case hasURL && hasCommand:
		c.complainOfKey(p.child("command"), "there are both url and command", "Keep url for a server that runs already, command for one that is started for each probe.")
	case hasURL:
		c.remote(p, written, made)
	case hasCommand:
		c.started(p, written, made)
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

// remote is a server that is called at an address.
func (c *checker) remote(p path, written component, made *registry.MCPServer) {
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
func (c *checker) started(p path, written component, made *registry.MCPServer) {
	made.Command = c.command(p.child("command"), written.Command)
	made.Env = c.environment(p.child("env"), written.Env)
	made.Dir = c.within(p.child("cwd"), written.CWD)
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

// address is an absolute http or https URL without credentials.
func (c *checker) address(p path, text string) string {
	if !c.has(p) || c.text(p, text) == "" {
		return ""
	}
	const hint = "Write it in full, such as http://127.0.0.1:8080."
	parsed, err := url.Parse(text)
	if err != nil && strings.ContainsAny(text, "@?") || err == nil && strings.Contains(text, "@") && (parsed.User != nil || parsed.Opaque != "") {
		c.keepSecret(p, text)
	}
	switch {
	case err != nil:
		c.complain(p, "this is not a URL", hint)
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		c.complain(p, "this is not an address that begins with http:// or https://", hint)
	case parsed.User != nil:
		c.complain(p, "the address holds credentials", "Leave out what stands before the @, and name it in credentials as env:NAME or file:PATH.")
	case parsed.Hostname() == "":
		c.complain(p, "the address names no host", hint)
	case parsed.Fragment != "":
		c.complain(p, "the address has a fragment, which is never sent", "Leave out the # and what follows.")
	default:
		return text
	}
	return ""
}

// safeAddress is an address to which a secret may be sent: nobody on the way can
// read it.
func (c *checker) safeAddress(p path, text string) string {
	text = c.address(p, text)
	if text != "" && !confidential(text) {
		c.complain(p, "a secret would be sent there in the clear", "Use https; http is for addresses of this machine only.")
	}
	return text
}

// confidential reports whether what is sent to a URL cannot be read on the way.
func confidential(text string) bool {
	parsed, err := url.Parse(text)
	if err != nil {
		return false
	}
	return parsed.Scheme == "https" || loopback(parsed.Hostname())
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	literal, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && literal.Unmap().IsLoopback()
}

// database is the database of serve.
func (c *checker) database(text secretText) registry.Secret {
	const p = path("db")
	if c.text(p, string(text)) == "" {
		return registry.Secret{}
	}
	if isReference(string(text)) {
		return c.secret(p, text)
	}
	if strings.HasPrefix(string(text), "postgres://") || strings.HasPrefix(string(text), "postgresql://") {
		parsed, err := url.Parse(string(text))
		hasPassword := err != nil
		if err == nil {
			_, inUser := parsed.User.Password()
			hasPassword = inUser || slices.ContainsFunc([]string{"password", "sslpassword"}, parsed.Query().Has)
		}
		if hasPassword {
			c.keepSecret(p, string(text))
			c.complain(p, "the URL holds a password, or cannot be read", "Put the whole URL elsewhere and name it: db: env:NAME or db: file:PATH.")
		}
		return registry.SecretText(string(text))
	}
	return registry.SecretText(filepath.Clean(c.within(p, string(text))))
}
