package config

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// readableByAll is the right that makes a secret worth a warning.
const readableByAll = 0o004

// Warnings returns what is valid and yet likely to fail or to be regretted: a
// secret that cannot be had from here, one that every user of this machine can
// read, one that is sent in the clear, a server without a canary. It is meant for
// what Check returned.
func (c *Config) Warnings(resolver Resolver) []Problem {
	var warnings []Problem
	for _, each := range c.references {
		if message, hint := doubtOf(each, resolver); message != "" {
			warnings = append(warnings, c.warning(each.path, c.decoder.places[each.path].value, message, hint))
		}
	}
	for i := range c.Components {
		warnings = append(warnings, c.doubts(&c.Components[i])...)
	}
	slices.SortStableFunc(warnings, inFileOrder)
	return warnings
}

func (c *Config) warning(p path, where position, message, hint string) Problem {
	return c.decoder.finished(Problem{
		File: c.decoder.file, Line: where.line, Column: where.column, Path: p.String(), Message: message, Hint: hint,
	})
}

// doubtOf says what is doubtful about a reference; nothing when it is sound.
func doubtOf(r reference, resolver Resolver) (message, hint string) {
	if _, err := resolver.Resolve(r.secret.Reference()); err != nil {
		coded, _ := fault.Of(err) // it always is one
		return coded.Message, coded.Hint
	}
	name, isFile := strings.CutPrefix(r.secret.Reference(), schemeFile+":")
	if !isFile || strings.HasSuffix(string(r.path), "/client_cert") || runtime.GOOS == "windows" { // whose rights are no bits
		return "", ""
	}
	if found, err := os.Stat(name); err != nil || found.Mode().Perm()&readableByAll == 0 {
		return "", ""
	}
	return "every user of this machine can read " + name, "Take the right away: chmod 600."
}

// doubts says what is doubtful about a component.
func (c *Config) doubts(component *registry.Component) []Problem {
	var warnings []Problem
	server, ok := component.Spec.(*registry.MCPServer)
	if !ok {
		return nil
	}
	p := path("components").child(component.Name)
	for _, each := range []struct{ key, address string }{{"url", server.URL}, {"mcp_url", server.MCPURL}} {
		if each.address != "" && !server.Credentials.IsZero() && !confidential(each.address) {
			warnings = append(warnings, c.warning(p.child(each.key), c.decoder.places[p.child(each.key)].value,
				"the credentials are sent there in the clear", "Use https."))
		}
	}
	if server.Profile == registry.Protocol && server.Canary == nil {
		warnings = append(warnings, c.warning(p, c.decoder.places[p].key,
			"there is no canary, so the gate test will fail with not_configured",
			"Add canary: {tool: NAME} with a harmless tool of the server; a probe names a likely one."))
	}
	return warnings
}
