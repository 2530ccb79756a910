package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of a file in which a client keeps its servers.
const (
	MaxClientFileBytes = 8 << 20
	MaxClientServers   = 1000
)

// maxClientNesting bounds how deep such a file may be nested. Clients keep other
// things in it too.
const maxClientNesting = 200

// ClientServer is one server of a client's file, named as it is there.
type ClientServer struct {
	Component registry.Component // of the profile protocol; its name only when there is a problem
	Problem   *Problem           // nil when the server can be probed
}

// ReadMCPServers reads the servers that an MCP client is configured with, in the
// order of the file: the map mcpServers of Claude Code, Claude Desktop and
// Cursor, or servers of VS Code, at the top of the file or below mcp; comments
// and trailing commas are read. Those that Claude Code keeps for one project, in
// the file of its user, are named "NAME (PROJECT)" and start in that folder. Placeholders are filled as the clients do; lookup
// is that of the environment. What is wrong with one server is that server's
// problem only. Servers that the file disables are left out.
// Faults: NotFound, Unavailable, TooLarge, InvalidArgument.
func ReadMCPServers(file string, lookup func(name string) (value string, ok bool)) ([]ClientServer, error) {
	content, err := readFile(file, MaxClientFileBytes)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, fault.New(fault.Unavailable, "cannot tell the folder of %s: %v", file, err).WithHint("Give an absolute path.")
	}
	if name := filepath.Base(folder); name == ".vscode" || name == ".cursor" {
		folder = filepath.Dir(folder)
	}
	return clientServers(file, strings.TrimPrefix(content, "\ufeff"), expander{workspace: folder, lookup: lookup})
}

func clientServers(file, content string, fill expander) ([]ClientServer, error) {
	if deepestJSON(content) > maxClientNesting {
		return nil, fault.New(fault.TooLarge, "%s is nested deeper than %d", file, maxClientNesting).WithHint("Check that this is the right file.")
	}
	root, err := hujson.Parse([]byte(content))
	if err != nil {
		return nil, notJSON(file, err)
	}
	var servers []ClientServer
	seen := map[string]bool{}
	for _, found := range serverMaps(root) {
		if len(servers) == MaxClientServers {
			return nil, fault.New(fault.TooLarge, "%s has more than %d servers", file, MaxClientServers).WithHint("Split the file.")
		}
		name := found.name()
		server, enabled, problem := fill.within(found.project).server(name, found.member.Value)
		if seen[name] {
			problem = errors.New("the name stands in the file a second time; keep one")
		}
		seen[name] = true
		switch {
		case problem != nil:
			line, column := placeIn(content, found.member.Name.StartOffset)
			servers = append(servers, ClientServer{
				Component: registry.Component{Name: name, Spec: &registry.MCPServer{Profile: registry.Protocol}},
				Problem:   &Problem{File: file, Line: line, Column: column, Path: name, Message: problem.Error()},
			})
		case enabled:
			servers = append(servers, ClientServer{Component: server})
		}
	}
	if len(seen) == 0 {
		return nil, fault.New(fault.InvalidArgument, "%s names no MCP server", file).
			WithHint(`Give a file with a map "mcpServers" (Claude Code, Claude Desktop, Cursor) or "servers" (VS Code).`)
	}
	return servers, nil
}

// notJSON tells where the text stops being JSON, and nothing of what is there.
func notJSON(file string, err error) error {
	where, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), ":")
	return fault.New(fault.InvalidArgument, "%s is not JSON: see %s", file, where).
		WithHint("Check the quotes, commas and brackets there; comments and trailing commas are fine.")
}

// declared is a member of a map of servers.
type declared struct {
	member  hujson.ObjectMember
	project string // the folder for which alone it is declared; empty for none
}

// name is what the server is called: two projects may use one name.
func (d declared) name() string {
	name := memberName(d.member)
	if d.project == "" || strings.TrimSpace(name) == "" {
		return name
	}
	return name + " (" + d.project + ")"
}

// within starts what is of a project there.
func (e expander) within(project string) expander {
	if filepath.IsAbs(project) {
		e.workspace, e.start = project, project
	}
	return e
}

// serverMaps returns the members of every map of servers.
func serverMaps(root hujson.Value) []declared {
	var found []declared
	add := func(project string, members []hujson.ObjectMember) {
		for _, each := range members {
			found = append(found, declared{each, project})
		}
	}
	object, _ := root.Value.(*hujson.Object)
	add("", membersOf(object, "mcpServers"))
	add("", membersOf(object, "servers"))
	if nested, ok := member(object, "mcp"); ok {
		below, _ := nested.Value.(*hujson.Object)
		add("", membersOf(below, "servers"))
	}
	for _, project := range membersOf(object, "projects") {
		below, _ := project.Value.Value.(*hujson.Object)
		add(memberName(project), membersOf(below, "mcpServers"))
	}
	return found
}

func membersOf(object *hujson.Object, name string) []hujson.ObjectMember {
	value, _ := member(object, name)
	servers, ok := value.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	return servers.Members
}

func member(object *hujson.Object, name string) (hujson.Value, bool) {
	if object == nil {
		return hujson.Value{}, false
	}
	for _, each := range object.Members {
		if memberName(each) == name {
			return each.Value, true
		}
	}
	return hujson.Value{}, false
}

func memberName(member hujson.ObjectMember) string {
	literal, _ := member.Name.Value.(hujson.Literal)
	return literal.String()
}

func placeIn(content string, offset int) (line, column int) {
	before := content[:min(offset, len(content))]
	last := strings.LastIndexByte(before, '\n')
	return strings.Count(before, "\n") + 1, len([]rune(before[last+1:])) + 1
}

// clientServer is what the clients say of a server. What else they say is for
// themselves.
type clientServer struct {
	Type     string             `json:"type"`
	URL      string             `json:"url"`
	Headers  map[string]string  `json:"headers"`
	Command  string             `json:"command"`
	Args     []string           `json:"args"`
	Env      map[string]envText `json:"env"`
	CWD      string             `json:"cwd"`
	EnvFile  string             `json:"envFile"`
	Disabled bool               `json:"disabled"`
}

// envText is a value in env, which clients also write as a number or as true and
// false.
type envText string

// UnmarshalJSON implements json.Unmarshaler.
func (t *envText) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, (*string)(t))
	}
	if text[0] == '{' || text[0] == '[' || text[0] == 'n' {
		return errors.New("no text")
	}
	*t = envText(text)
	return nil
}

// server makes a component of an entry, and reports whether it is enabled. The
// error holds nothing of the entry's values.
func (e expander) server(name string, value hujson.Value) (made registry.Component, enabled bool, err error) {
	if strings.TrimSpace(name) == "" || len(name) > maxTextLength {
		return made, false, fmt.Errorf("the name is empty or has more than %d bytes", maxTextLength)
	}
	plain := value.Clone()
	plain.Standardize()
	var entry clientServer
	if err := json.Unmarshal(plain.Pack(), &entry); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			top, _, _ := strings.Cut(wrong.Field, ".")
			return made, false, fmt.Errorf("%s is not of the type that clients give it", top)
		}
		return made, false, errors.New("the entry is not an object that describes a server")
	}
	if entry.Disabled {
		return made, false, nil
	}
	server := &registry.MCPServer{Profile: registry.Protocol}
	made = registry.Component{Name: name, Spec: server}
	switch remote, err := entry.remote(); {
	case err != nil:
		return made, false, err
	case remote:
		err = e.address(entry, server)
		return made, true, err
	default:
		err = e.command(entry, server)
		return made, true, err
	}
}

// remote reports whether the server has an address; else it has a command.
func (s clientServer) remote() (bool, error) {
	switch strings.ToLower(strings.ReplaceAll(s.Type, "-", "")) {
	case "":
		if s.URL != "" && s.Command != "" {
			return false, errors.New("there are both url and command, and no type that says which of them counts")
		}
	case "http", "streamablehttp", "sse":
		if s.URL == "" {
			return false, errors.New("the type wants a url, and there is none")
		}
		return true, nil
	case "stdio":
		if s.Command == "" {
			return false, errors.New("the type stdio wants a command, and there is none")
		}
		return false, nil
	default:
		return false, errors.New("the type is not http, sse or stdio, which are those that can be probed")
	}
	if s.URL == "" && s.Command == "" {
		return false, errors.New("there is neither url nor command")
	}
	return s.URL != "", nil
}

func (e expander) address(entry clientServer, made *registry.MCPServer) error {
	address, err := e.fill("url", entry.URL)
	if err != nil {
		return err
	}
	parsed, err := url.Parse(address)
	switch {
	case err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "":
		return errors.New("url is not an address that begins with http:// or https://")
	case parsed.User != nil:
		return errors.New("url holds credentials; put them into headers")
	}
	parsed.Fragment, parsed.RawFragment = "", ""
	made.URL, made.Private = parsed.String(), privateOf(parsed)
	for _, name := range slices.Sorted(maps.Keys(entry.Headers)) {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if reserved(canonical) {
			continue // what clients add is what the probe sends anyway
		}
		filled, err := e.fill("headers", entry.Headers[name])
		switch {
		case err != nil:
			return err
		case !isToken(name) || strings.ContainsAny(filled, "\r\n\x00"):
			return errors.New("headers has a name or a value that HTTP does not permit")
		}
		if made.Credentials.Headers == nil {
			made.Credentials.Headers = map[string]registry.Secret{}
		}
		made.Credentials.Headers[canonical] = registry.SecretText(filled)
	}
	return nil
}

// privateOf returns the values in the query of an address, which may be keys.
func privateOf(address *url.URL) []registry.Secret {
	var private []registry.Secret
	for _, values := range address.Query() {
		for _, value := range values {
			private = append(private, registry.SecretText(value))
			if escaped := url.QueryEscape(value); escaped != value {
				private = append(private, registry.SecretText(escaped))
			}
		}
	}
	return private
}

func (e expander) command(entry clientServer, made *registry.MCPServer) error {
	if entry.EnvFile != "" {
		return errors.New("envFile is not read; put the variables into env")
	}
	for i, argument := range append([]string{entry.Command}, entry.Args...) {
		filled, err := e.fill([]string{"command", "args"}[min(i, 1)], argument)
		if err != nil {
			return err
		}
		if filled != argument {
			made.Private = append(made.Private, registry.SecretText(filled))
		}
		made.Command = append(made.Command, filled)
	}
	for _, name := range slices.Sorted(maps.Keys(entry.Env)) {
		filled, err := e.fill("env", string(entry.Env[name]))
		switch {
		case err != nil:
			return err
		case name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(filled, 0):
			return errors.New("env has a name or a value that no environment can hold")
		}
		if made.Env == nil {
			made.Env = map[string]registry.Secret{}
		}
		made.Env[name] = registry.SecretText(filled)
	}
	dir, err := e.fill("cwd", entry.CWD)
	if err != nil {
		return err
	}
	if dir != "" && !filepath.IsAbs(dir) {
		dir = filepath.Join(e.workspace, dir)
	}
	made.Dir = cmp.Or(dir, e.start)
	return nil
}
