package registry

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// maxTarget bounds what Component.Target says, in bytes.
const maxTarget = 400

// Target says what the probes of a component reach, as a person would look for it:
// an address without user, query and fragment, a program with those of its arguments
// that are no options and hold no values, an image. It is empty for a kind that does
// not say. It is untrusted text.
func (c *Component) Target() string {
	if c == nil {
		return ""
	}
	said, ok := c.Spec.(interface{ Target() string })
	if !ok {
		return ""
	}
	return Shorten(said.Target(), maxTarget)
}

// Target is the address, and that of the MCP endpoint where it stands elsewhere; or
// the program.
func (s *MCPServer) Target() string {
	switch {
	case len(s.Command) > 0:
		return commandTarget(s.Command)
	case s.MCPURL != "":
		return bareAddress(s.URL) + ", MCP at " + bareAddress(s.MCPURL)
	}
	return bareAddress(s.URL)
}

// Target is the model, and where it is asked for.
func (m *Model) Target() string {
	if m.BaseURL == "" {
		return strings.TrimSuffix(m.Model+" at "+string(m.Provider)+" in "+m.Region, " in ")
	}
	return m.Model + " at " + bareAddress(m.BaseURL)
}

// Target is the image.
func (h *Harness) Target() string { return h.Image }

// bareAddress is an address without what may hold a secret.
func bareAddress(text string) string {
	address, err := url.Parse(text)
	if text == "" {
		return ""
	}
	if err != nil || address.Host == "" {
		return "an address that cannot be read"
	}
	return (&url.URL{Scheme: address.Scheme, Host: address.Host, Path: address.Path, RawPath: address.RawPath}).String()
}

// commandTarget is a program with its arguments up to the first that may hold a
// secret.
func commandTarget(command []string) string {
	shown := []string{filepath.Base(command[0])}
	for _, argument := range command[1:] {
		isOption := strings.HasPrefix(argument, "-") && !slices.Contains([]string{"-y", "-m", "-jar"}, argument)
		if isOption || strings.Contains(argument, "=") || strings.Contains(argument, "://") {
			shown = append(shown, "...")
			break
		}
		shown = append(shown, argument)
	}
	return strings.Join(shown, " ")
}
