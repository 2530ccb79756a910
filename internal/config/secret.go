package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// The schemes of a reference.
const (
	schemeEnv  = "env"
	schemeFile = "file"
)

// MaxSecretBytes bounds a secret, a certificate chain included.
const MaxSecretBytes = 1 << 20

// readableByAll is the right that makes a secret worth a warning.
const readableByAll = 0o004

// isReference reports whether a text has the form of a reference.
func isReference(text string) bool {
	return strings.HasPrefix(text, schemeEnv+":") || strings.HasPrefix(text, schemeFile+":")
}

// Resolver reads what references name: anew each time, so that a secret which is
// rotated is used from the next probe on.
type Resolver struct {
	Lookup func(name string) (value string, ok bool) // of the environment
}

// Resolve returns the secret that env:NAME or file:PATH names; one line feed at
// the end of a file is left out. No fault holds the secret.
// Faults: Unavailable when it cannot be had, InvalidArgument for no reference.
func (r Resolver) Resolve(reference string) (string, error) {
	scheme, named, _ := strings.Cut(reference, ":")
	var value string
	var err error
	switch scheme {
	case schemeEnv:
		var ok bool
		if value, ok = r.Lookup(named); !ok {
			err = errors.New("the environment variable is not set")
		}
	case schemeFile:
		value, err = readSecret(named)
	default:
		return "", fault.New(fault.InvalidArgument, "this is no reference to a secret").WithHint("Write env:NAME or file:PATH.")
	}
	if err == nil && value == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return "", fault.New(fault.Unavailable, "the secret at %s cannot be had: %v", reference, err).
			WithHint("Set the variable, or write the file, for the user that runs Countersign.").
			WithCause(err)
	}
	return value, nil
}

func readSecret(name string) (string, error) {
	found, err := os.Stat(name) // before it is opened, since opening a pipe waits
	if err != nil {
		return "", withoutPath(err)
	}
	if !found.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	file, err := os.Open(name)
	if err != nil {
		return "", withoutPath(err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, MaxSecretBytes+1))
	switch {
	case err != nil:
		return "", withoutPath(err)
	case len(content) > MaxSecretBytes:
		return "", fmt.Errorf("it has more than %d bytes", MaxSecretBytes)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
}

func withoutPath(err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err
	}
	return err
}

// Warnings returns what is valid and yet likely to fail or to be regretted: a
// secret that cannot be had from here, one that every user of this machine can
// read, one that is sent in the clear, a server without a canary.
func (c *Config) Warnings(resolver Resolver) []Problem {
	var warnings []Problem
	warn := func(p path, where position, message, hint string) {
		warnings = append(warnings, c.decoder.finished(Problem{
			File: c.decoder.file, Line: where.line, Column: where.column, Path: p.String(), Message: message, Hint: hint,
		}))
	}
	for _, each := range c.references {
		where := c.decoder.places[each.path].value
		if _, err := resolver.Resolve(each.secret.Reference()); err != nil {
			if coded, ok := fault.Of(err); ok {
				warn(each.path, where, coded.Message, coded.Hint)
			}
			continue
		}
		if name, ok := strings.CutPrefix(each.secret.Reference(), schemeFile+":"); ok {
			if found, err := os.Stat(name); err == nil && found.Mode().Perm()&readableByAll != 0 && isKey(each.path) {
				warn(each.path, where, "every user of this machine can read "+name, "Take the right away: chmod 600.")
			}
		}
	}
	for _, each := range c.Components {
		p := path("components").child(each.Name)
		for key, address := range map[string]string{"url": each.URL, "mcp_url": each.MCPURL} {
			if address != "" && !each.Credentials.IsZero() && !confidential(address) {
				warn(p.child(key), c.decoder.places[p.child(key)].value, "the credentials are sent there in the clear", "Use https.")
			}
		}
		if each.Profile == registry.Protocol && each.Canary == nil {
			warn(p, c.decoder.places[p].key, "there is no canary, so the gate test will fail with not_configured",
				"Add canary: {tool: NAME} with a harmless tool of the server; a probe names a likely one.")
		}
	}
	slices.SortStableFunc(warnings, inFileOrder)
	return warnings
}

// isKey reports whether a reference names something that others must not read.
func isKey(p path) bool { return !strings.HasSuffix(string(p), "/client_cert") }
