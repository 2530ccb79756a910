package config

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
)

// readableByAll is the right that makes a secret worth a warning.
const readableByAll = 0o004

// Warnings returns what is valid and yet likely to fail or to be regretted: a
// secret that cannot be had from here, one that every user of this machine can
// read, one that is sent in the clear, a server without a canary, a program that is
// not there, a result that counts for too short a time, a run that needs nothing. It has none of what no
// file says.
func (c *Config) Warnings(resolver Resolver) []Problem {
	if c.decoder == nil {
		return nil
	}
	var warnings []Problem
	for _, each := range c.references {
		if message, hint := doubtOf(each, resolver); message != "" {
			warnings = append(warnings, c.doubt(each.path, message, hint))
		}
	}
	warnings = append(warnings, newReviewer(c, resolver).doubts()...)
	slices.SortStableFunc(warnings, inFileOrder)
	return warnings
}

// doubt is a warning at a value.
func (c *Config) doubt(p path, message, hint string) Problem {
	return c.warning(p, c.decoder.places[p].value, message, hint)
}

// doubtOfKey is a warning at a key.
func (c *Config) doubtOfKey(p path, message, hint string) Problem {
	return c.warning(p, c.decoder.places[p].key, message, hint)
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
	if !isFile || isPublic(r.path) || runtime.GOOS == "windows" { // whose rights are no bits
		return "", ""
	}
	if found, err := os.Stat(name); err != nil || found.Mode().Perm()&readableByAll == 0 {
		return "", ""
	}
	return "every user of this machine can read " + name, "Take the right away: chmod 600."
}

// isPublic reports whether what stands at a path may be known to all.
func isPublic(p path) bool {
	return strings.HasSuffix(string(p), "/client_cert") || strings.HasSuffix(string(p), "/signature/key")
}
