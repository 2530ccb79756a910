package config

import (
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/theory/jsonpath"

	"github.com/countersign-dev/countersign/internal/registry"
)

const (
	minInterval   = time.Second
	maxInterval   = 30 * 24 * time.Hour
	maxTTL        = 3 * maxInterval
	maxInARow     = 100  // results that change a status
	maxTextLength = 1000 // bytes of a name, a pattern or a path
)

// checker makes of what is written what it means, and reports what means nothing.
type checker struct {
	*decoder

	folder     string // of the file; relative paths start here
	references []reference
}

func (c *checker) config(written *document) *Config {
	loaded := Default()
	loaded.DB = c.database(written.DB)
	loaded.Network = registry.Network{Allow: c.rules("network/allow", written.Network.Allow), Deny: c.rules("network/deny", written.Network.Deny)}
	if c.has("listen") {
		loaded.Listen = c.listen("listen", written.Listen)
		if host, _, err := net.SplitHostPort(loaded.Listen); err == nil && !loopback(host) {
			c.complain("listen", "this is reachable from other machines, and nobody is authenticated over HTTP yet", "Write a loopback address such as 127.0.0.1:8484.")
		}
	}
	if len(written.Components) > MaxComponents {
		c.complain("components", fmt.Sprintf("there are more than %d components", MaxComponents), "Split them over several files.")
	} else {
		for _, name := range inOrder(c, "components", written.Components) {
			loaded.Components = append(loaded.Components, c.component(name, written.Components[name]))
		}
	}
	loaded.Slots = c.slots(written, loaded.Components)
	loaded.Runs = c.runs(written)
	loaded.Retention = c.retention(written.Retention, loaded.Retention)
	loaded.Patrol = c.patrol(written.Patrol, loaded.Patrol)
	loaded.Front = c.front(written.Front)
	loaded.Alerts = c.alerts(written.Alerts)
	loaded.references = c.references
	return loaded
}

// has reports whether a key stands in the file.
func (c *checker) has(p path) bool {
	_, ok := c.places[p]
	return ok
}

// complain reports a problem with a value.
func (c *checker) complain(p path, message, hint string) { c.add(c.places[p].value, p, message, hint) }

// complainOfKey reports a problem with a key.
func (c *checker) complainOfKey(p path, message, hint string) {
	c.add(c.places[p].key, p, message, hint)
}

// inOrder returns the names of a table in the order of the file.
func inOrder[V any](c *checker, p path, table map[string]V) []string {
	return slices.SortedFunc(maps.Keys(table), func(a, b string) int {
		first, second := c.places[p.child(a)].key, c.places[p.child(b)].key
		if first.line != second.line {
			return first.line - second.line
		}
		return first.column - second.column
	})
}

// named refuses what is no name of a component or of what the front tests.
func (c *checker) named(p path, text string) {
	if !registry.IsName(text) {
		c.complainOfKey(p, "this is not a name",
			"A name begins with a letter or a digit, goes on with letters, digits, dots, dashes and underscores, is in lower case and has at most 64 characters.")
	}
}

// text refuses one that is empty, over-long or has control characters.
func (c *checker) text(p path, text string) string {
	switch {
	case !c.has(p) || c.broken[p]:
	case strings.TrimSpace(text) == "":
		c.complain(p, "this is empty", "Write a text, or leave out the key.")
	case len(text) > maxTextLength:
		c.complain(p, fmt.Sprintf("this has more than %d bytes", maxTextLength), "Shorten it.")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		c.complain(p, "this has control characters", "Remove them.")
	}
	return text
}

func (c *checker) texts(p path, texts []string) []string {
	for i, each := range texts {
		c.text(p.child(strconv.Itoa(i)), each)
	}
	return texts
}

func (c *checker) required(section path, keys ...string) {
	for _, key := range keys {
		if !c.has(section.child(key)) {
			c.complainOfKey(section, key+" is missing", "Add the key "+key+".")
		}
	}
}

func (c *checker) duration(p path, text duration, shortest, longest time.Duration) time.Duration {
	if !c.has(p) || c.broken[p] {
		return 0
	}
	parsed, err := time.ParseDuration(string(text))
	switch {
	case err != nil:
		c.complain(p, "this is not a time with its unit", "Write one such as 500ms, 30s, 5m or 24h.")
	case parsed < shortest || parsed > longest:
		c.complain(p, fmt.Sprintf("%v is not between %v and %v", parsed, shortest, longest), "Write a time in between.")
	}
	return parsed
}

// number is one from 1 on; 0 when the key is not there.
func (c *checker) number(p path, written, highest int) int {
	if c.has(p) && !c.broken[p] && (written < 1 || written > highest) {
		c.complain(p, fmt.Sprintf("%d is not between 1 and %d", written, highest), "Write a number in between.")
	}
	return written
}

func (c *checker) pattern(p path, text string) *regexp.Regexp {
	if c.text(p, text) == "" {
		return nil
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		c.complain(p, "this is not a regular expression: "+strings.TrimPrefix(err.Error(), "error parsing regexp: "),
			"Write it in the syntax of RE2; single quotes keep YAML from reading backslashes.")
	}
	return compiled
}

func (c *checker) jsonPath(p path, text string) string {
	if c.text(p, text) == "" {
		return ""
	}
	if _, err := jsonpath.Parse(text); err != nil {
		c.complain(p, "this is not a JSONPath: "+strings.TrimPrefix(err.Error(), "jsonpath: "),
			"Write it as RFC 9535 has it, such as $.items[*].id.")
	}
	return text
}

func (c *checker) listen(p path, text string) string {
	if c.broken[p] {
		return ""
	}
	host, port, err := net.SplitHostPort(text)
	number, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || host == "" {
		c.complain(p, "this is not an address with a port", "Write one such as 127.0.0.1:8484; port 0 takes a free one.")
		return ""
	}
	return net.JoinHostPort(host, strconv.FormatUint(number, 10))
}

// within makes a path of the file absolute.
func (c *checker) within(p path, text string) string {
	if c.text(p, text) == "" {
		return ""
	}
	if strings.HasPrefix(text, "~") {
		c.complain(p, "the ~ of a shell is not expanded here", "Write the path in full, or relative to the file.")
	}
	if filepath.IsAbs(text) {
		return filepath.Clean(text)
	}
	return filepath.Join(c.folder, text)
}
