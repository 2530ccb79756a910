package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
)

// The schemes of a reference.
const (
	schemeEnv  = "env"
	schemeFile = "file"
)

// MaxSecretBytes bounds a secret, a certificate chain included.
const MaxSecretBytes = 1 << 20

// isReference reports whether a text has the form of a reference.
func isReference(text string) bool {
	return strings.HasPrefix(text, schemeEnv+":") || strings.HasPrefix(text, schemeFile+":")
}

// Resolver reads what references name: anew each time, so that a secret which is
// rotated is used from the next probe on.
type Resolver struct {
	Lookup func(name string) (value string, ok bool) // of the environment
}

// lookup is Lookup; without one, nothing is set.
func (r Resolver) lookup(name string) (string, bool) {
	if r.Lookup == nil {
		return "", false
	}
	return r.Lookup(name)
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
		return "", WithoutPath(err)
	}
	if !found.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	file, err := os.Open(name)
	if err != nil {
		return "", WithoutPath(err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, MaxSecretBytes+1))
	switch {
	case err != nil:
		return "", WithoutPath(err)
	case len(content) > MaxSecretBytes:
		return "", fmt.Errorf("it has more than %d bytes", MaxSecretBytes)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
}

// WithoutPath is the reason of an error that names a file, for a message that has
// named it already.
func WithoutPath(err error) error {
	if wrapped, ok := errors.AsType[*fs.PathError](err); ok {
		return wrapped.Err
	}
	return err
}
