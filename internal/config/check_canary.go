package config

import (
	"regexp"
	"strings"
	"sync"

	"github.com/countersign-dev/countersign/internal/registry"
)

func (c *checker) canary(p path, written *canary) *registry.Canary {
	if written == nil {
		if c.has(p) {
			c.complain(p, "the canary names no tool", "Write canary: {tool: NAME}, or leave it out.")
		}
		return nil
	}
	c.required(p, "tool")
	c.arguments(p.child("arguments"), written.Arguments)
	return &registry.Canary{
		Tool:      c.text(p.child("tool"), written.Tool),
		Arguments: written.Arguments,
		Expect:    c.expectation(p.child("expect"), written.Expect),
		Force:     written.Force,
	}
}

func (c *checker) expectation(p path, written expect) registry.Expectation {
	var ways []string
	for _, key := range []string{"not_empty", "matches", "path"} {
		if c.has(p.child(key)) {
			ways = append(ways, key)
		}
	}
	if len(ways) > 1 {
		c.complainOfKey(p, strings.Join(ways, " and ")+" exclude each other", "Keep one: not_empty, matches, or path with equals or min_count.")
	}
	if written.NotEmpty != nil && !*written.NotEmpty {
		c.complain(p.child("not_empty"), "an expectation cannot be switched off", "Leave it out: a result must at least not be empty.")
	}
	made := registry.Expectation{
		Matches: c.pattern(p.child("matches"), written.Matches),
		Path:    c.jsonPath(p.child("path"), written.Path),
		Equals:  written.Equals,
	}
	if written.MinCount != nil {
		made.MinCount = *written.MinCount
		if made.MinCount < 1 {
			c.complain(p.child("min_count"), "every result has at least no value", "Write a number from 1 on.")
		}
	}
	hasPath, hasEquals, hasCount := c.has(p.child("path")), c.has(p.child("equals")), c.has(p.child("min_count"))
	switch {
	case hasEquals && hasCount:
		c.complainOfKey(p, "equals and min_count exclude each other", "Keep one.")
	case hasPath && !hasEquals && !hasCount:
		c.complainOfKey(p.child("path"), "path needs equals or min_count", "Say what the path must select.")
	case !hasPath && (hasEquals || hasCount):
		c.complainOfKey(p, "equals and min_count need path", "Say with path what to look at.")
	}
	return made
}

// versionForm is numbers joined by dots.
var versionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+(\.[0-9]+)*$`) })

func (c *checker) front(written front) Front {
	made := Front{Canary: c.canary("front/test/canary", written.Test.Canary)}
	if c.has("front/listen") {
		made.Listen = c.listen("front/listen", written.Listen)
	}
	const executables, checks = path("front/test/executables"), path("front/test/http")
	for _, name := range inOrder(c, executables, written.Test.Executables) {
		made.Executables = append(made.Executables, c.executable(executables.child(name), name, written.Test.Executables[name]))
	}
	for _, name := range inOrder(c, checks, written.Test.HTTP) {
		p, each := checks.child(name), written.Test.HTTP[name]
		c.named(p, name)
		if _, twice := written.Test.Executables[name]; twice {
			c.complainOfKey(p, "this is the name of an executable already", "Choose another name.")
		}
		c.required(p, "url")
		check := HTTPCheck{Name: name, URL: c.address(p.child("url"), each.URL), Optional: each.Optional}
		if each.Status != nil {
			check.Status = *each.Status
			if check.Status < 100 || check.Status > 599 {
				c.complain(p.child("status"), "this is not an HTTP status", "Write a number from 100 to 599.")
			}
		}
		made.HTTP = append(made.HTTP, check)
	}
	return made
}

func (c *checker) executable(p path, name string, written executable) Executable {
	c.named(p, name)
	made := Executable{
		Name:       name,
		Path:       c.text(p.child("path"), written.Path),
		Args:       written.Args,
		ExitCode:   written.ExitCode,
		Matches:    c.pattern(p.child("matches"), written.Matches),
		MinVersion: c.text(p.child("min_version"), written.MinVersion),
		Optional:   written.Optional,
	}
	if made.Path == "" {
		made.Path = name
	}
	if strings.ContainsRune(made.Path, '/') {
		made.Path = c.within(p.child("path"), made.Path)
	}
	if made.ExitCode > 255 {
		c.complain(p.child("exit_code"), "this is not an exit code", "Write a number from 0 to 255.")
	}
	if made.MinVersion != "" && !versionForm().MatchString(made.MinVersion) {
		c.complain(p.child("min_version"), "this is not a version", `Write numbers joined by dots in quotes, such as "7.80".`)
	}
	return made
}
